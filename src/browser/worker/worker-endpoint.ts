/**
 * The worker's end of a page's connection to it. Requests of the page are carried out by this worker's own core if it owns the
 * storage, and otherwise passed on to the owner.
 *
 *     created ── open() ──► opening ── a core answers, this worker's or another tab's ──► open ── close() ──► closed
 *                              └── none does ──► closed, and open() rejects with the reason
 *
 * Requests that come before `open` or after `close` are answered with 503. While it is open the worker also takes part in the election of the
 * owner (`storage-owner.ts`), so that it can become the owner when the current one exits.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { type Clock, pause, systemClock } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady, withEnd } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Log } from '../../base/system/contract.ts';
import { createLog, type EntryLevel, type LogLevel } from '../../base/system/log.ts';
import { VERSION } from '../../base/system/version.ts';
import type { LoadDeferredCode } from '../../core/deferred/contract.ts';
import type { LoadJournalFiles } from '../../storage/indexeddb/journal-files.ts';
import type { OwnerLink, PageWorker, WorkerOptions, WorkerStatus } from '../bridge/contract.ts';
import { createInstance, ownerOf } from '../bridge/instance.ts';
import { ActiveRequests } from '../bridge/link/active-requests.ts';
import { createLink } from '../bridge/link/owner-link.ts';
import { serviceUnavailable } from '../bridge/service-unavailable.ts';
import { PortTransport } from '../bridge/stream-transports.ts';
import {
  type AliveMessage,
  type ClearedMessage,
  OTHER_PROTOCOL,
  type OutdatedMessage,
  type PortOffer,
  PROTOCOL,
  type ReplicationMessage,
  type WireRequest,
  type WireResponse,
} from '../bridge/wire.ts';
import { requestFromWire, responseToWire } from '../bridge/wire-codec.ts';
import type { NetworkEvents } from './network-watch.ts';
import { DRAIN_MS, StorageOwner } from './storage-owner.ts';

/**
 * Explains to the developer why no core can be opened. Settee's own errors explain themselves: those of the storage, and plain ones. For an error
 * of the browser this names the likeliest cause, since its message is as short as "The request was denied".
 */
export function explainOpeningFailure(failure: unknown): Error {
  if (failure instanceof DatabaseError || (failure instanceof Error && failure.constructor === Error)) return failure;
  const { name = '', message = String(failure) }: Partial<Error> = Object(failure);
  return new Error(`The database can't be opened (${message}). ${remedyFor(name)}`, { cause: failure });
}

function remedyFor(name: string): string {
  if (name === 'SecurityError' || name === 'NotAllowedError') {
    return 'The browser blocks the data of this site: allow the site to store data; a frame in a page of another site may need permission of its own';
  }
  return 'Try again. If that does not help, look for an error in the browser console';
}

/** The log of a worker goes to the console of the page's developer tools, errors as errors. */
export function createConsoleLog(level: LogLevel = 'error'): Log {
  const methods = { error: 'error', warning: 'warn', info: 'info', debug: 'debug', request: 'debug' } as const;
  // biome-ignore lint/suspicious/noConsole: a worker has nothing else to write to.
  const write = (entry: string, kind: EntryLevel) => console[methods[kind]](`Settee ${entry}`);
  return createLog({ level, clock: systemClock, write });
}

/** What a worker gets from its browser; tests provide their own. */
export interface WorkerHost {
  /** Address of the worker's script. */
  readonly address: string;
  readonly locks: LockManager | undefined;
  readonly indexedDB: IDBFactory | undefined;
  readonly deferred: LoadDeferredCode;
  readonly journalFiles?: LoadJournalFiles | undefined;
  /** Sends the page a port that it forwards to the service worker. See `OwnerServerOptions`. */
  readonly offerPort?: ((offer: PortOffer, port: MessagePort) => void) | undefined;
  /** Sends the page a message that it forwards to the service worker, to keep that alive. */
  readonly sendAlive?: (message: AliveMessage) => void;
  /** Reports the state of the replications to the page. */
  readonly tellReplication?: (message: ReplicationMessage) => void;
  /** Tells the page that it is outdated. */
  readonly tellOutdated?: (message: OutdatedMessage) => void;
  /** Tells the page that the site's data were cleared, and that it must replace this worker. */
  readonly tellCleared?: (message: ClearedMessage) => void;
  /** See `StorageOwnerOptions`. */
  readonly network?: NetworkEvents;
  readonly clock?: Clock;
  readonly pingMs?: number;
}

/** What an open endpoint uses. */
interface Service {
  readonly owner: StorageOwner;
  readonly link: OwnerLink;
  readonly isOwnedByAnyone: () => Promise<boolean>;
  /** Rejects when the owner speaks a newer protocol. */
  readonly outdated: Promise<never>;
}

/** How long `open` waits for a core that answers. */
const OPEN_MS = 15_000;
const RETRY_MS = 250;

const CLOSED = 'The service was closed in this page; call start() again';

export class WorkerEndpoint implements PageWorker {
  readonly #host: WorkerHost;
  readonly #calls = new Map<number, AbortController>();
  /** Requests that were passed on to another tab. */
  readonly #passedOn = new ActiveRequests();
  #service: Service | undefined;

  constructor(host: WorkerHost) {
    this.#host = host;
  }

  async open(options: WorkerOptions): Promise<void> {
    if (options.protocol !== PROTOCOL) throw otherProtocol(pageOf(options.protocol));
    if (this.#service !== undefined) throw new Error('This worker already serves a base; start another worker');
    try {
      this.#service = createService(this.#host, options);
      await firstAnswer(this.#service, createInstance(options.base, this.#host.address).base);
    } catch (error) {
      await this.close();
      throw explainOpeningFailure(error);
    }
  }

  handle(wire: WireRequest, call?: number): MaybePromise<WireResponse> {
    const transport = new PortTransport();
    const toWire = (response: PlainResponse) => responseToWire(response, transport);
    if (call === undefined) return whenReady(this.#answer(requestFromWire(wire, transport)), toWire);
    const request = requestFromWire(wire, transport, this.#signalOf(call));
    return withEnd(
      () => whenReady(this.#answer(request), toWire),
      () => this.#calls.delete(call),
    );
  }

  abort(call: number): void {
    this.#calls.get(call)?.abort();
  }

  async status(): Promise<WorkerStatus> {
    const { owner, isOwnedByAnyone } = this.#service ?? {};
    const others = (await isOwnedByAnyone?.()) ? 'follower' : 'waiting';
    const role = owner?.isOwner ? 'owner' : others;
    return { role, engine: 'indexeddb', version: VERSION, protocol: PROTOCOL };
  }

  async close(): Promise<void> {
    const service = this.#service;
    this.#service = undefined;
    await service?.owner.close();
    await this.#passedOn.idle(DRAIN_MS);
    service?.link.close();
  }

  #answer(request: PlainRequest): MaybePromise<PlainResponse> {
    const service = this.#service;
    if (service === undefined) return serviceUnavailable(CLOSED, request.method);
    const passOn = (passed: PlainRequest) => service.link.handle(passed);
    return whenReady(service.owner.handle(request), (response) => response ?? this.#passedOn.run(passOn, request));
  }

  #signalOf(call: number): AbortSignal {
    const controller = new AbortController();
    this.#calls.set(call, controller);
    return controller.signal;
  }
}

function createService(host: WorkerHost, options: WorkerOptions): Service {
  const { address, locks, indexedDB, sendAlive } = host;
  if (indexedDB === undefined) {
    throw new Error('IndexedDB is not available here; allow the site to store data, and leave private browsing');
  }
  if (locks === undefined) {
    throw new Error(
      'Web Locks are not available here, because only secure pages have them; serve the page over https, or from localhost',
    );
  }
  const instance = createInstance(options.base, address);
  const { settings, logLevel } = options;
  const log = createConsoleLog(logLevel);
  const keepAlive = (): void => {
    pingServiceWorker(instance.base);
    sendAlive?.({ type: 'SETTEE_ALIVE', base: instance.base });
  };
  const { base } = instance;
  const onReplicationActivity = (activity: ReplicationMessage['activity']) =>
    host.tellReplication?.({ type: 'SETTEE_REPLICATION', base, activity });
  const { tellCleared } = host;
  const onCleared = tellCleared && (() => tellCleared({ type: 'SETTEE_CLEARED' }));
  const given = { ...host, instance, locks, settings, log, keepAlive, onReplicationActivity, onCleared };
  const owner = new StorageOwner({ ...given, kind: 'tab' });
  let fail: (reason: Error) => void;
  const outdated = new Promise<never>((_, reject) => {
    fail = reject;
  });
  outdated.catch(() => {});
  const onOutdated = (): void => {
    fail(otherProtocol(NEWER_TAB));
    host.tellOutdated?.({ type: 'SETTEE_OUTDATED' });
  };
  const link = createLink({ instance, carrier: 'tab', locks, onOutdated });
  return { owner, link, outdated, isOwnedByAnyone: async () => ownerOf(await locks.query(), instance) !== undefined };
}

/**
 * Fetches an address that the service worker answers itself, since an event keeps it alive. In Firefox this occasionally fails to reach it
 * from a worker that began before the service worker took control, so that the page also forwards a message.
 */
function pingServiceWorker(base: string): void {
  fetch(`${base}_settee/alive`, { mode: 'no-cors', cache: 'no-store' }).catch(() => {});
}

/** Resolves when a core answers, this worker's own or another tab's. */
async function firstAnswer({ owner, link, outdated }: Service, base: string): Promise<void> {
  const found = new AbortController();
  try {
    await Promise.race([owner.opened, outdated, answerOfOtherTab(link, base, found.signal)]);
  } finally {
    found.abort();
  }
}

/** Asks the owner of the storage until it answers. Rejects with its last reason. */
async function answerOfOtherTab(link: OwnerLink, url: string, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + OPEN_MS;
  for (;;) {
    const { status, body } = await link.handle({ method: 'GET', url, headers: {}, body: null, signal });
    if (status !== 503) return;
    if (Date.now() > deadline)
      throw new Error(`No tab answers for ${url}: ${typeof body === 'string' ? body : status}`);
    await pause(RETRY_MS);
  }
}

const NEWER_TAB = 'Another tab runs a newer version of this app and owns the database; reload the page';

function pageOf(protocol: number): string {
  return `This page uses protocol ${protocol}, but its worker uses ${PROTOCOL}; reload the page`;
}

function otherProtocol(message: string): Error {
  return Object.assign(new Error(message), { name: OTHER_PROTOCOL });
}
