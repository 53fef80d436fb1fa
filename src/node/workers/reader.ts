import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Forwarder } from '../forwarding/forwarder.ts';

/** How long `_up` waits for the owner's response, in milliseconds. */
const UP_MS = 5_000;

const UP = /^\/+_up\/*(?:[?#]|$)/;

export interface ReaderOptions {
  readonly forwarder: Forwarder;
}

export interface Reader {
  readonly handle: Handle;
  close(): Promise<void>;
}

/** What answers the requests of a process that does not own the databases: all of them are forwarded to the one that does. */
export async function openReader({ forwarder }: ReaderOptions): Promise<Reader> {
  return {
    handle: (request) => (isUp(request) ? answerUp(request, forwarder) : forwarder.handle(request)),
    close: async () => forwarder.close(),
  };
}

function isUp({ method, url }: PlainRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && UP.test(url);
}

/** The owner's response, which says what the service does, with the role of this process. */
async function answerUp(request: PlainRequest, forwarder: Forwarder): Promise<PlainResponse> {
  // For HEAD, too: the length changes with the role.
  const { url, headers: sent, peer } = request;
  const answer = await within(UP_MS, forwarder.handle({ method: 'GET', url, headers: sent, body: null, peer }));
  if (answer === undefined || answer.errorCode === 'shutting_down') return unreachable();
  const { body, headers } = answer;
  if (!(body instanceof Uint8Array)) return answer;
  const text = Buffer.from(body).toString();
  if (!text.startsWith('{')) return answer;
  const { 'content-length': _, ...others } = headers;
  return { ...answer, headers: others, body: `${JSON.stringify({ ...JSON.parse(text), role: 'reader' })}\n` };
}

function unreachable(): PlainResponse {
  const reason = 'The process that owns the databases does not answer; it may be starting again.';
  return {
    status: 503,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '1' },
    body: `${JSON.stringify({ status: 'owner_unreachable', role: 'reader', reason })}\n`,
  };
}

/** Undefined if it takes longer. */
async function within<T>(milliseconds: number, work: T | Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
