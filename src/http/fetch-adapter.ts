/**
 * `fetch` around `handle`, for any environment with the web's own classes. Bodies flow both ways as they are pulled, and
 * a cancellation at either end reaches the other.
 */
import {
  type ByteStream,
  type Handle,
  headerLines,
  type PlainResponse,
  type RequestBody,
} from '../base/shared/message.ts';
import { isStream } from './request/bodies.ts';

type FetchFunction = (request: Request) => Promise<Response>;

export function createFetch(handle: Handle): FetchFunction {
  return async (request) => {
    const { method, url, signal } = request;
    // A simulated page, such as happy-dom's, keeps the case in which a header was written.
    const headers = Object.fromEntries([...request.headers].map(([name, value]) => [name.toLowerCase(), value]));
    const body = await requestBody(request);
    const response = await handle({ method, url, headers, body, signal });
    return toResponse(method === 'HEAD' ? { ...response, body: null } : response);
  };
}

async function requestBody(request: Request): Promise<RequestBody> {
  // Firefox has no `body` on requests; there the blob is on disk if it is large.
  if (request.body === undefined) return request.blob();
  return request.body === null ? null : fromReadable(request.body);
}

function fromReadable(readable: ReadableStream<Uint8Array>): ByteStream {
  const reader = readable.getReader();
  return {
    pull: async () => {
      const step = await reader.read();
      return step.done ? undefined : step.value;
    },
    cancel: (reason) => reader.cancel(reason),
  };
}

function toResponse({ status, headers, body }: PlainResponse): Response {
  const lines = headerLines(headers);
  return new Response(isStream(body) ? toReadable(body) : toBytes(body), { status, headers: lines });
}

/** A view of shared memory can't be the body of a Response. Bodies here never are one; the copy satisfies the type checker. */
function toBytes(body: string | Uint8Array | null): string | Uint8Array<ArrayBuffer> | null {
  return body instanceof Uint8Array ? new Uint8Array(body) : body;
}

/** Lazy: pulls nothing before it is read. */
function toReadable(stream: ByteStream): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const chunk = await stream.pull();
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
      cancel: (reason) => stream.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
