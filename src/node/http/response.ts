import type { ServerResponse } from 'node:http';
import type { ByteStream, PlainResponse } from '../../shared/message.ts';

/** The request that an answer belongs to. */
interface Exchange {
  readonly method: string;
  readonly outgoing: ServerResponse;
  /** Called when an answer's stream broke off in the middle. */
  readonly onBrokenStream: (error: unknown) => void;
}

/**
 * Turns an answer into the `Response` that @hono/node-server sends. Text and bytes go out in one write with their
 * length. A stream is pulled as fast as the client reads, and cancelled when the client goes away. If the stream fails the
 * connection is closed, so that the client can't take an incomplete answer for a complete one.
 */
export function toResponse(response: PlainResponse, exchange: Exchange): Response {
  const { status, headers, body } = response;
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
