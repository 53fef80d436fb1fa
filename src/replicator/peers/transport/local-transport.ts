/** A database of this very service, asked through the one door. */
import type { Handle, PlainResponse, RequestBody, RequestUser } from '../../../shared/message.ts';
import type { WhyEnded } from '../../contract.ts';
import { RightsEnded } from '../../failure.ts';
import type { AnswerBody, Transport, TransportAnswer, TransportRequest } from './contract.ts';

export interface LocalTransportOptions {
  readonly handle: Handle;
  readonly basePath: string;
  readonly database: string;
  readonly user: RequestUser;
  /** See `Replication`. */
  readonly whyEnded?: WhyEnded | undefined;
}

export class LocalTransport implements Transport {
  readonly name: string;
  readonly isLocal = true;
  readonly isSlow = false;
  readonly #options: LocalTransportOptions;
  readonly #path: string;

  constructor(options: LocalTransportOptions) {
    this.name = options.database;
    this.#options = options;
    this.#path = `${options.basePath}/${encodeURIComponent(options.database)}`;
  }

  async send({ method, path, ofServer, headers, body, signal }: TransportRequest): Promise<TransportAnswer> {
    const { handle, basePath, user, whyEnded } = this.#options;
    signal.throwIfAborted();
    const why = whyEnded === undefined ? undefined : await whyEnded();
    if (why !== undefined) throw new RightsEnded(why);
    const recheckUser = whyEnded && (async () => ((await whyEnded()) === undefined ? user : undefined));
    const url = `${ofServer === true ? basePath : this.#path}${path}`;
    const response = await handle({ method, url, headers, body: toRequestBody(body), signal, user, recheckUser });
    return {
      status: response.status,
      header: (name) => response.headers[name],
      cookies: [],
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
  // An abort ends a wait for the next piece, too: a feed may wait for ever.
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
