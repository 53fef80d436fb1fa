import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { urlToHttpOptions } from 'node:url';

/** A connection without traffic for this long is given up. */
const silenceMs = 5 * 60 * 1000;

export interface StreamedRequest {
  readonly method: string;
  /** Follows the path of the base, percent-encoded. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: AsyncIterable<Uint8Array>;
}

/** The body of a request failed, with `cause`. */
export class BodyError extends Error {
  constructor(cause: unknown) {
    super('The body of the request failed', { cause });
    this.name = 'BodyError';
  }
}

/**
 * Sends a request whose body is sent as fast as the server takes it, and returns the response. `fetch` is unsuitable: it changes paths such as
 * `/db/..`, which is the document `..`, and it decodes responses. Rejects with the error of the connection, or with `BodyError`; the request
 * then broke off before its end.
 *
 * @param base an address without a query
 */
export async function sendStreamed(base: string, { method, path, headers, body }: StreamedRequest) {
  const url = new URL(base);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const request = send({
    ...urlToHttpOptions(url),
    path: `${url.pathname.replace(/\/+$/, '')}${path}`,
    method,
    headers: { ...headers },
  });
  request.setTimeout(silenceMs, () => request.destroy(new Error(`nothing arrived for ${silenceMs / 1000} seconds`)));
  const answer = answerTo(request);
  if (body === undefined) request.end();
  else await sendBody(request, body, answer);
  return answer;
}

function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    // It stays, because an error after the response, which the response's reader notices, would end the process.
    request.on('error', reject);
  });
  // A body that fails is reported first.
  answer.catch(() => undefined);
  return answer;
}

/** Ends early if the response comes before the end of the body: the server has no use for the rest. */
async function sendBody(
  request: ClientRequest,
  body: AsyncIterable<Uint8Array>,
  answer: Promise<IncomingMessage>,
): Promise<void> {
  const bytes = body[Symbol.asyncIterator]();
  let isAnswered = false;
  request.once('response', () => {
    isAnswered = true;
  });
  try {
    while (!isAnswered && !request.destroyed) {
      const { value, done } = await bytes.next().catch((error: unknown) => {
        throw new BodyError(error);
      });
      if (done) break;
      if (!request.write(value)) await Promise.race([once(request, 'drain'), answer]);
    }
    request.end();
  } catch (error) {
    request.destroy();
    throw error;
  } finally {
    await bytes.return?.();
  }
}
