/** A database of this service, accessed through the request handler. */
import type { Handle, PlainRequest, PlainResponse, RequestBody } from '../../../base/shared/message.ts';
import type { WhyEnded } from '../../contract.ts';
import { RightsEnded } from '../../failure.ts';
import type { AnswerBody, Transport, TransportAnswer, TransportRequest } from './transport.ts';

export interface LocalTransportOptions {
  readonly handle: Handle;
  /** The database's name for people. */
  readonly name: string;
  /** The prefix of every path of the service, and the path of the database. */
  readonly basePath: string;
  readonly path: string;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The user whose rights requests have, or the connection data if their headers say who sends them. */
  readonly sender: Pick<PlainRequest, 'user' | 'peer' | 'scheme'>;
  /** See `Replication`. */
  readonly whyEnded?: WhyEnded | undefined;
}

export class LocalTransport implements Transport {
  readonly name: string;
  readonly isLocal = true;
  readonly isSlow = false;
  readonly #options: LocalTransportOptions;

  constructor(options: LocalTransportOptions) {
    this.name = options.name;
    this.#options = options;
  }

  async send(request: TransportRequest): Promise<TransportAnswer> {
    const { method, path, ofServer, body, signal } = request;
    const { handle, basePath, path: ofDatabase, sender, whyEnded } = this.#options;
    signal.throwIfAborted();
    const why = whyEnded === undefined ? undefined : await whyEnded();
    if (why !== undefined) throw new RightsEnded(why);
    const recheckUser =
      whyEnded && sender.user && (async () => ((await whyEnded()) === undefined ? sender.user : undefined));
    const url = `${ofServer === true ? basePath : ofDatabase}${path}`;
    const headers = { ...request.headers, ...request.ownHeaders, ...this.#options.headers };
    const response = await handle({ ...sender, method, url, headers, body: toRequestBody(body), signal, recheckUser });
    return {
      status: response.status,
      header: (name) => response.headers[name],
      cookies: response.headers['set-cookie']?.split('\n') ?? [],
      body: answerBody(response, signal),
    };
  }
}

function toRequestBody(body: TransportRequest['body']): RequestBody {
  if (body === undefined) return null;
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  const chunks = body[Symbol.asyncIterator]();
  return {
    pull: async () => {
      const step = await chunks.next();
      return step.done === true ? undefined : step.value;
    },
    cancel: async () => {
      await chunks.return?.();
    },
  };
}

function answerBody({ body }: PlainResponse, signal: AbortSignal): AnswerBody {
  if (body === null || typeof body === 'string' || body instanceof Uint8Array) return wholeBody(body ?? '');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  // An abort also ends a wait for the next piece: a feed may wait forever.
  const cancel = () => body.cancel().catch(() => undefined);
  const onAbort = () => void cancel();
  signal.addEventListener('abort', onAbort, { once: true });
  const taken = async <T>(next: Promise<T | undefined>): Promise<T | undefined> => {
    const piece = await next;
    if (piece === undefined) signal.removeEventListener('abort', onAbort);
    signal.throwIfAborted();
    return piece;
  };
  return {
    pull: () => taken(body.pull()),
    pullText: async () => {
      if (body.pullText !== undefined) return taken(body.pullText());
      const chunk = await taken(body.pull());
      return chunk === undefined ? decoder.decode() || undefined : decoder.decode(chunk, { stream: true });
    },
    cancel: () => {
      signal.removeEventListener('abort', onAbort);
      return cancel();
    },
  };
}

function wholeBody(body: string | Uint8Array): AnswerBody {
  let left: string | Uint8Array | undefined = body.length === 0 ? undefined : body;
  const take = () => {
    const taken = left;
    left = undefined;
    return taken;
  };
  return {
    pull: async () => {
      const taken = take();
      return typeof taken === 'string' ? new TextEncoder().encode(taken) : taken;
    },
    pullText: async () => {
      const taken = take();
      return taken instanceof Uint8Array ? new TextDecoder('utf-8', { fatal: true }).decode(taken) : taken;
    },
    cancel: async () => {
      left = undefined;
    },
  };
}
