import type { ByteBudget } from '../../base/shared/byte-budget.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Log } from '../../base/system/contract.ts';
import type { Counters } from '../../base/system/counters.ts';
import { createCore } from '../../core/core.ts';
import { readerCode } from '../../core/reader.ts';
import { createGateway } from '../../http/middleware/gateway.ts';
import type { PageStore } from '../../storage/page-store.ts';
import type { FollowedSettings } from '../forwarding/followed-settings.ts';
import type { Forwarder } from '../forwarding/forwarder.ts';
import { isPresentVersion } from '../forwarding/settings-version.ts';
import { counting } from '../forwarding/traffic-counts.ts';
import { createPlatform } from '../server/platform.ts';

/** How long `_up` waits for the owner's response, in milliseconds. */
const UP_MS = 5_000;

const UP = /^\/+_up\/*(?:[?#]|$)/;

export interface ReaderOptions {
  readonly forwarder: Forwarder;
  readonly config: FollowedSettings;
  readonly log: Log;
  readonly bytesInFlight: ByteBudget;
  readonly counters: Counters;
  /** The owner's files. They are closed with the reader. */
  readonly storage: PageStore;
  /** Called before a request that may ask for what is counted or logged. */
  readonly onServerRequest: () => void;
}

export interface Reader {
  readonly handle: Handle;
  /** The number of changes feeds that wait. */
  readonly waitingFeeds: number;
  /** From now on new requests get a 503 `shutting_down`, and feeds end. */
  beginShutdown(): void;
  close(): Promise<void>;
}

/**
 * What answers the requests of a process that does not own the databases: it reads them beside the owner, and forwards to that one what it can't
 * answer itself.
 */
export async function openReader(options: ReaderOptions): Promise<Reader> {
  const { forwarder, config, log, bytesInFlight, counters, storage, onServerRequest } = options;
  const core = await createCore({
    ...createPlatform(config, log),
    ...{ log, bytesInFlight, counters, gateway: createGateway },
    storage,
    reader: {
      ...{ forward: counting(forwarder.handle, counters), config, code: readerCode },
      hasPresentSettings: (notes) => isPresentVersion(config.version, notes),
    },
    logTail: { read: () => new Uint8Array() },
  });
  return {
    handle: (request) => {
      if (isUp(request)) return answerUp(request, forwarder, core.registry.lagMs?.() ?? 0);
      if (request.url.startsWith('/_')) onServerRequest();
      return core.handle(request);
    },
    get waitingFeeds() {
      return core.waitingFeeds;
    },
    beginShutdown: () => core.beginShutdown(),
    close: () => core.close(),
  };
}

function isUp({ method, url }: PlainRequest): boolean {
  return (method === 'GET' || method === 'HEAD') && UP.test(url);
}

/** The owner's response, which says what the service does, with the role of this process. */
async function answerUp(request: PlainRequest, forwarder: Forwarder, lagMs: number): Promise<PlainResponse> {
  // For HEAD, too: the length changes with the role.
  const { url, headers: sent, peer } = request;
  const answer = await within(UP_MS, forwarder.handle({ method: 'GET', url, headers: sent, body: null, peer }));
  if (answer === undefined || answer.errorCode === 'shutting_down') return unreachable();
  const { body, headers } = answer;
  if (!(body instanceof Uint8Array)) return answer;
  const text = Buffer.from(body).toString();
  if (!text.startsWith('{')) return answer;
  const { 'content-length': _, ...others } = headers;
  const told = { ...JSON.parse(text), role: 'reader', lag_ms: Math.round(lagMs) };
  return { ...answer, headers: others, body: `${JSON.stringify(told)}\n` };
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
