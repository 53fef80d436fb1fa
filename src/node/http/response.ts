import type { ServerResponse } from 'node:http';
import type { ByteLease } from '../../base/shared/byte-budget.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { type ByteStream, headerLines, type PlainResponse } from '../../base/shared/message.ts';
import { type CooperativeTask, roomInTurn, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import { putTogether, wholeCharactersEnd } from '../../base/shared/utf8.ts';

/** The request that a response belongs to. */
interface Exchange {
  readonly method: string;
  readonly outgoing: ServerResponse;
  /** Called when a response's stream broke off in the middle. */
  readonly onBrokenStream: (error: unknown) => void;
}

/**
 * Releases what a response holds when its client has it. If its client reads slowly while others wait for what it holds, it gives way to them.
 */
export function returnWhenSent(held: ByteLease, body: PlainResponse['body'], outgoing: ServerResponse): void {
  if (outgoing.closed) {
    held.release();
    return;
  }
  outgoing.once('close', () => held.release());
  held.giveWay = () => outgoing.destroy();
  // For a response that is sent in one write it is unknown how much has arrived.
  held.theirTurn(body === null ? 0 : body.length);
}

/** Hundreds of longer texts that are ready in one turn would hold the thread while they are written. */
const FREE_TEXT = 16_384;
/** UTF-16 units from which on a text is sent in pieces: one write would hold the thread until all of it is copied. */
const LONG_TEXT = 1_048_576;
/** The same while memory is short: a piece shows how soon the client takes it. */
const PIECED_TEXT = 65_536;
const PIECE_UNITS = 262_144;
/** A response that has no body by any method, so its length is that of the response to GET. */
const NOT_MODIFIED = 304;

/**
 * Turns a response into the `Response` that @hono/node-server sends. Text and bytes are sent in one write with their
 * length, a long text in several. A stream is pulled as fast as the client reads, and cancelled when the client goes away. If the stream fails the
 * connection is closed, so that the client can't take an incomplete response for a complete one.
 */
export function toResponse(response: PlainResponse, exchange: Exchange): MaybePromise<Response> {
  const { body } = response;
  if (typeof body === 'string' && body.length > FREE_TEXT) {
    return whenReady(roomInTurn(), () => toLongResponse(response, exchange));
  }
  return toResponseAtOnce(response, exchange);
}

function toLongResponse(response: PlainResponse, exchange: Exchange): MaybePromise<Response> {
  const { body, held } = response;
  if (typeof body !== 'string' || body.length <= (held?.isShortOf(0) === true ? PIECED_TEXT : LONG_TEXT)) {
    return toResponseAtOnce(response, exchange);
  }
  return whenReady(runCooperatively(measured(body, held)), (long) =>
    toResponseAtOnce({ ...response, body: long }, exchange),
  );
}

function toResponseAtOnce(response: PlainResponse, exchange: Exchange): Response {
  const { status, headers, body } = response;
  const lines = headerLines(body === null && exchange.method !== 'HEAD' ? ofNoBody(response) : headers);
  if (body === null || typeof body === 'string') return new Response(body, { status, headers: lines });
  if (body instanceof Uint8Array) return new Response(body, { status, headers: lines });
  const sized =
    body.length === undefined || 'content-length' in headers
      ? lines
      : headerLines({ ...headers, 'content-length': `${body.length}` });
  if (exchange.method === 'HEAD') {
    body.cancel().catch(exchange.onBrokenStream);
    return new Response(null, { status, headers: sized });
  }
  return new Response(toReadable(body, exchange), { status, headers: sized });
}

/**
 * Without a length of what is not sent: the client of `X-HTTP-Method-Override: HEAD` asked by POST, and would take the next response of the
 * connection for this one's body.
 */
function ofNoBody({ status, headers }: PlainResponse): PlainResponse['headers'] {
  if (status === NOT_MODIFIED || (headers['content-length'] ?? '0') === '0') return headers;
  const { 'content-length': _, ...others } = headers;
  return others;
}

/** Returns a text of more than `most` UTF-16 units as a stream with its length; undefined for every other body. */
export function toLongText({ body, held }: PlainResponse, most: number): MaybePromise<ByteStream | undefined> {
  if (typeof body !== 'string' || body.length <= most) return undefined;
  return runCooperatively(measured(body, held));
}

/** How long a connection waits for a client to take what was written before it is cut. */
const LAST_WORDS_MS = 5_000;

/** Cuts the connection after what was written: that may say why, and node would drop what is still queued. */
function breakOff(outgoing: ServerResponse): void {
  const { socket } = outgoing;
  const cut = () => outgoing.destroy();
  if (socket === null) return void cut();
  const timer = setTimeout(cut, LAST_WORDS_MS);
  outgoing.once('close', () => clearTimeout(timer));
  socket.write('', cut);
}

function toReadable(body: ByteStream, { outgoing, onBrokenStream }: Exchange): ReadableStream<Uint8Array> {
  /** The client went away. A read that is waiting then, such as a feed's, ends and its result is dropped. */
  let isLeft = false;
  // At once: until then the data written for it takes the memory that others wait for.
  body.onBreak?.(() => outgoing.destroy());
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const chunk = await body.pull();
          if (isLeft) return;
          if (chunk === undefined) controller.close();
          else controller.enqueue(chunk);
        } catch (error) {
          onBrokenStream(error);
          // Not `controller.error`: the listener would print it. The close event of the connection cancels the stream.
          breakOff(outgoing);
        }
      },
      cancel: (reason) => {
        isLeft = true;
        return body.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** A text as a stream that is encoded only as far as the client reads. */
class LongText implements ByteStream {
  readonly length: number;
  readonly #text: string;
  readonly #held: ByteLease | undefined;
  /** Without it a client that reads everything at once would hold the thread. */
  readonly #timeSlice = new TimeSlice();
  #at = 0;

  constructor(text: string, length: number, held: ByteLease | undefined) {
    this.#text = text;
    this.#held = held;
    this.length = length;
  }

  async pull(): Promise<Uint8Array | undefined> {
    this.#held?.ownTurn();
    if (this.#timeSlice.isDue) await this.#timeSlice.rest();
    const piece = this.#nextPiece();
    this.#held?.theirTurn(piece.length);
    return piece === '' ? undefined : Buffer.from(piece);
  }

  async cancel(): Promise<void> {
    this.#at = this.#text.length;
  }

  #nextPiece(): string {
    const piece = pieceFrom(this.#text, this.#at);
    this.#at += piece.length;
    return piece;
  }
}

function* measured(text: string, held: ByteLease | undefined): CooperativeTask<LongText> {
  yield* putTogether(text);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    yield;
    const piece = pieceFrom(text, at);
    length += Buffer.byteLength(piece);
    at += piece.length;
  }
  return new LongText(text, length, held);
}

function pieceFrom(text: string, from: number): string {
  return text.slice(from, wholeCharactersEnd(text, from + PIECE_UNITS));
}
