import type { ServerResponse } from 'node:http';
import type { ByteStream, PlainResponse } from '../../shared/message.ts';
import { Pace } from '../../shared/turn.ts';
import { wholeCharactersEnd } from '../../shared/utf8.ts';

/** The request that an answer belongs to. */
interface Exchange {
  readonly method: string;
  readonly outgoing: ServerResponse;
  /** Called when an answer's stream broke off in the middle. */
  readonly onBrokenStream: (error: unknown) => void;
}

/** UTF-16 units from which on a text goes out in pieces: one write would hold the thread until all of it is copied. */
const LONG_TEXT = 1_048_576;
const PIECE_UNITS = 262_144;

/**
 * Turns an answer into the `Response` that @hono/node-server sends. Text and bytes go out in one write with their
 * length, a long text in several. A stream is pulled as fast as the client reads, and cancelled when the client goes away. If the stream fails the
 * connection is closed, so that the client can't take an incomplete answer for a complete one.
 */
export function toResponse(response: PlainResponse, exchange: Exchange): Response {
  const { status, headers, body } = response;
  if (typeof body === 'string' && body.length > LONG_TEXT) {
    return toResponse({ ...response, body: new LongText(body) }, exchange);
  }
  if (body === null || typeof body === 'string') return new Response(body, { status, headers });
  if (body instanceof Uint8Array) return new Response(body, { status, headers });
  const sized =
    body.length === undefined || 'content-length' in headers
      ? headers
      : { ...headers, 'content-length': `${body.length}` };
  if (exchange.method === 'HEAD') {
    body.cancel().catch(exchange.onBrokenStream);
    return new Response(null, { status, headers: sized });
  }
  return new Response(toReadable(body, exchange), { status, headers: sized });
}

function toReadable(body: ByteStream, { outgoing, onBrokenStream }: Exchange): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const chunk = await body.pull();
          if (chunk === undefined) controller.close();
          else controller.enqueue(chunk);
        } catch (error) {
          onBrokenStream(error);
          // Not `controller.error`: the listener would print it. The close event of the connection cancels the stream.
          outgoing.destroy();
        }
      },
      cancel: (reason) => body.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** A text as a stream that is encoded as far as the client reads. */
class LongText implements ByteStream {
  readonly length: number;
  readonly #text: string;
  /** A client that takes all at once would hold the thread otherwise. */
  readonly #pace = new Pace();
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    let length = 0;
    // In pieces: Node takes several times as long for a text that was put together and not looked at yet.
    for (let piece = this.#nextPiece(); piece !== ''; piece = this.#nextPiece()) length += Buffer.byteLength(piece);
    this.length = length;
    this.#at = 0;
  }

  async pull(): Promise<Uint8Array | undefined> {
    if (this.#pace.isDue) await this.#pace.rest();
    const piece = this.#nextPiece();
    return piece === '' ? undefined : Buffer.from(piece);
  }

  async cancel(): Promise<void> {
    this.#at = this.#text.length;
  }

  #nextPiece(): string {
    const from = this.#at;
    this.#at = wholeCharactersEnd(this.#text, from + PIECE_UNITS);
    return this.#text.slice(from, this.#at);
  }
}
