/**
 * Everything that a worker needs to own the storage of an instance: takes part in the election, and while this worker is the owner
 * keeps the core open and answers its own host and, over channels, all others. For a tab's worker and a service worker alike.
 *
 *     not the owner ── lock granted ──► opening: listens, requests wait for the core ── core open ──► ready: answers
 *     opening, ready ── asked, closing ──► leaving: refuses new requests, finishes what is in progress, stores the journal ──► not the owner
 *     opening, ready ── lock stolen ──► breaks off what is in progress, writes nothing more ──► not the owner
 *
 * `browser/bridge/ownership` decides when; this file does it.
 */

import { isDatabaseError } from '../../base/errors/database-error.ts';
import { type Clock, systemClock, systemRandom } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { Handle, PlainRequest, PlainResponse, RequestBody } from '../../base/shared/message.ts';
import type { Log, Settings } from '../../base/system/contract.ts';
import { silentLog } from '../../base/system/log.ts';
import type { LoadDeferredCode } from '../../core/deferred/contract.ts';
import { isReadOnlyRequest } from '../../http/request/read-only-requests.ts';
import type { ReplicationActivity } from '../../replication/contract.ts';
import type { LoadJournalFiles } from '../../storage/indexeddb/journal-files.ts';
import type { Instance } from '../bridge/contract.ts';
import { ownerLock } from '../bridge/instance.ts';
import { ActiveRequests } from '../bridge/link/active-requests.ts';
import { createOwnerServer, type OwnerServer } from '../bridge/link/owner-server.ts';
import { createElection, type Election } from '../bridge/ownership/election.ts';
import type { LeaveReason, Ownership } from '../bridge/ownership/ownership.ts';
import { SessionRequests, type SharedSession, shareSession } from '../bridge/ownership/shared-session.ts';
import type { ParticipantKind, PortOffer } from '../bridge/wire.ts';
import { isStream } from '../bridge/wire-codec.ts';
import { CookieJar } from '../cookie-jar.ts';
import { CoreSupervisor } from './core-supervisor.ts';
import { type NetworkEvents, watchNetwork } from './network-watch.ts';

export interface StorageOwnerOptions {
  readonly instance: Instance;
  readonly kind: ParticipantKind;
  readonly locks: LockManager;
  readonly deferred: LoadDeferredCode;
  readonly settings?: Settings | undefined;
  /** Default: none. */
  readonly log?: Log | undefined;
  /** Sends an event to the service worker; called every 10 s while something is open through it. */
  readonly keepAlive?: (() => void) | undefined;
  /** See `OwnerServerOptions`. */
  readonly offerPort?: ((offer: PortOffer, port: MessagePort) => void) | undefined;
  /** Default: the host's own. */
  readonly indexedDB?: IDBFactory | undefined;
  /** See `IndexedDbPageStoreOptions`. */
  readonly journalFiles?: LoadJournalFiles | undefined;
  readonly clock?: Clock | undefined;
  /** See `ElectionOptions`. */
  readonly protocol?: number | undefined;
  /** See `ElectionOptions`. */
  readonly pingMs?: number | undefined;
  /** Where it learns that the network is back. */
  readonly network?: NetworkEvents | undefined;
  /** The state of the replications that this worker runs; called when that changes, and with `resting` when it releases the storage. */
  readonly onReplicationActivity?: ((activity: ReplicationActivity) => void) | undefined;
  /**
   * Called if the browser has closed the storage by force, this worker's or that of the owner, as when it clears the site's data: this worker
   * must be replaced. Without it the storage is opened again.
   */
  readonly onCleared?: (() => void) | undefined;
  /** Milliseconds without work after which a service worker gives the storage up. Default: 2,000. */
  readonly idleMs?: number | undefined;
}

/** What runs while this worker owns the storage. */
interface OwnerService {
  readonly ownerId: string;
  readonly core: CoreSupervisor;
  readonly server: OwnerServer;
  readonly work: ActiveRequests;
  /** The core wrapped with the session's cookies. */
  readonly handle: Handle;
}

/** How long requests in progress may go on when the storage is given up in order. */
export const DRAIN_MS = 3_000;

/** Attempts to open the storage after which a failure counts as permanent. Being blocked by another tab never does. */
const LASTING_AFTER = 3;

/** From this size of a request's body on, carrying it out may leave no time for pings. */
const LARGE_BODY = 2 ** 20;
/** A second for each megabyte: twenty times the usual time, for slow machines with much other work. */
const BUSY_MS_PER_BYTE = 0.001;

export class StorageOwner {
  readonly #options: StorageOwnerOptions;
  readonly #log: Log;
  readonly #jar: CookieJar;
  readonly #requests: SessionRequests;
  readonly #session: SharedSession;
  readonly #election: Election;
  readonly #opened: Promise<void>;
  #resolveOpened: () => void = () => {};
  #rejectOpened: (error: unknown) => void = () => {};
  #failedOpenings = 0;
  /** The ownership that was ended because another worker may have the file that could not be loaded here. */
  #endedForFile: Ownership | undefined;
  #service: OwnerService | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #stopWatching: (() => void) | undefined;
  /** Called when the storage is released, with the state of the replications. */
  #leaveWaiters: ((activity: ReplicationActivity) => void)[] = [];

  constructor(options: StorageOwnerOptions) {
    const { instance, kind, locks, clock = systemClock, protocol, pingMs, log = silentLog, onCleared } = options;
    this.#options = options;
    this.#log = log;
    this.#opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    this.#opened.catch(() => {});
    this.#jar = new CookieJar({ clock, base: instance.base, onChange: () => this.#session.announce() });
    this.#requests = new SessionRequests({
      onChange: () => this.#session.announce(),
      onLoad: () => this.#service?.core.core?.replications.resume(),
    });
    this.#session = shareSession(instance, { cookies: this.#jar, replications: this.#requests });
    this.#election = createElection({
      instance,
      kind,
      locks,
      clock,
      protocol,
      pingMs,
      onCleared,
      listen: (ownerId) => {
        this.#service = this.#startService(ownerId);
      },
      become: () => this.#openCore(),
      leave: (why) => this.#leave(why),
      onOutage: (error) => this.#onOpeningFailed(error),
    });
  }

  /** Resolves when this worker's own core answers for the first time; rejects if its storage can't be opened at all. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  get isOwner(): boolean {
    return this.#election.ownership?.isReady === true;
  }

  /** For a service worker: becomes the owner if no one is or wants to be. See `Election`. */
  takeIfFree(): Promise<boolean> {
    return this.#election.takeIfFree();
  }

  /**
   * For a service worker: takes the storage like `takeIfFree`, and runs replications until they are at rest or can't go on. Resolves to
   * their state when it released the storage; to undefined if it did not get it.
   */
  async replicate(): Promise<ReplicationActivity | undefined> {
    if (!(await this.takeIfFree())) return undefined;
    return new Promise((resolve) => this.#leaveWaiters.push(resolve));
  }

  /**
   * Answers the request if this worker owns the storage. Returns undefined if it doesn't: then the request was not begun and its body is
   * untouched, so that it can be sent to the owner.
   */
  handle(request: PlainRequest): MaybePromise<PlainResponse | undefined> {
    const service = this.#service;
    const { ownership } = this.#election;
    if (service === undefined || ownership === undefined || ownership.ownerId !== service.ownerId) return undefined;
    return whenReady(ownership.check(), (isOurs) => (isOurs ? this.#carryOut(service, ownership, request) : undefined));
  }

  /** Finishes what is in progress, stores it, and gives the storage up. */
  async close(): Promise<void> {
    await this.#election.close();
    this.#session.close();
  }

  // ——— answering ———

  #carryOut(
    service: OwnerService,
    ownership: Ownership,
    request: PlainRequest,
  ): MaybePromise<PlainResponse | undefined> {
    if (this.#idleTimer !== undefined) clearTimeout(this.#idleTimer);
    const size = sizeOf(request.body);
    if (size > LARGE_BODY) this.#election.announceWork(2000 + size * BUSY_MS_PER_BYTE);
    return whenReady(service.work.run(service.handle, request), (response) =>
      // A body that is a stream can't be sent a second time.
      response.status !== 503 || isStream(request.body)
        ? response
        : this.#unlessForNextOwner(ownership, request, response),
    );
  }

  async #unlessForNextOwner(
    ownership: Ownership,
    request: PlainRequest,
    response: PlainResponse,
  ): Promise<PlainResponse | undefined> {
    const isReadOnly = isReadOnlyRequest(request, this.#options.instance.base);
    if (await isLeftUndone(ownership, isReadOnly, response)) return undefined;
    return (await this.#giveWayForFile(ownership, response)) ? undefined : response;
  }

  /**
   * After an update of the app an old worker can't load the files that it has not loaded yet, but a tab that came later can. So the storage
   * is given up if another worker waits for it; once, since all may be old. Returns whether it is.
   */
  async #giveWayForFile(ownership: Ownership, { errorCode }: PlainResponse): Promise<boolean> {
    if (errorCode !== 'functions_unavailable') return false;
    if (this.#endedForFile !== undefined) return this.#endedForFile === ownership;
    const { locks, instance } = this.#options;
    const { pending = [] } = await locks.query();
    if (!pending.some(({ name }) => name === ownerLock(instance))) return false;
    this.#endedForFile = ownership;
    this.#election.giveWay();
    return true;
  }

  // ——— becoming the owner and ceasing to be it ———

  /** From here on requests wait for the core, so that a client that sends one before it is open sees that there is an owner. */
  #startService(ownerId: string): OwnerService {
    const options = this.#options;
    const isStillOwner = async (): Promise<boolean> => (await this.#election.ownership?.holdsLock()) === true;
    const { clock = systemClock } = options;
    const given = { ...options, clock, random: systemRandom, log: this.#log };
    const requests = this.#requests;
    const kept = {
      get text() {
        return requests.requests;
      },
      save: (text: string) => requests.save(text),
    };
    const replications = { requests: kept, onActivity: options.onReplicationActivity };
    const { onCleared } = options;
    const onForcedClose = onCleared && (() => this.#onForcedClose(onCleared));
    const core = new CoreSupervisor({ ...given, isStillOwner, replications, onForcedClose });
    const handle = this.#jar.around((request) => core.handle(request));
    const work = new ActiveRequests(() => this.#startIdleTimer());
    const answer = (request: PlainRequest) => this.handle(request);
    const server = createOwnerServer({ ...options, ownerId, handle: answer });
    return { ownerId, core, server, work, handle };
  }

  async #openCore(): Promise<void> {
    await this.#service?.core.open();
    this.#failedOpenings = 0;
    const { clock = systemClock, network } = this.#options;
    this.#stopWatching?.();
    this.#stopWatching = watchNetwork(clock, network, () => this.#service?.core.core?.networkIsBack());
    this.#resolveOpened();
    this.#startIdleTimer();
  }

  #onForcedClose(onCleared: () => void): void {
    this.#log.info(
      'the browser has closed the storage by force, as when it clears the data of a site; the page replaces this worker',
    );
    this.#election.announceCleared();
    onCleared();
  }

  #onOpeningFailed(error: unknown): void {
    this.#log.error('the storage could not be opened; trying again', error);
    this.#failedOpenings += 1;
    if (this.#failedOpenings >= LASTING_AFTER && !isDatabaseError(error, 'storage_blocked')) this.#rejectOpened(error);
  }

  async #leave(why: LeaveReason): Promise<void> {
    const service = this.#service;
    this.#service = undefined;
    clearTimeout(this.#idleTimer);
    this.#stopWatching?.();
    if (service === undefined) return;
    this.#log.info(`this worker releases the storage (${why})`);
    const { server, work, core } = service;
    const activity = core.core?.replications.activity ?? 'resting';
    for (const resolve of this.#leaveWaiters.splice(0)) resolve(activity);
    this.#options.onReplicationActivity?.('resting');
    server.refuse();
    // If the core isn't open yet and another worker requested the storage, requests that wait for the core go to that worker instead.
    const finishes = why === 'closing' || (why === 'asked' && core.isOpen);
    if (finishes && (await work.idle(DRAIN_MS))) await server.answered();
    server.leave();
    await (why === 'stolen' ? core.drop() : core.close()).finally(() => server.close());
  }

  /** A service worker keeps the storage only as long as it has work. */
  #startIdleTimer(): void {
    if (this.#options.kind === 'tab') return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      if (this.#service?.work.count !== 0) return;
      if (this.#service.core.core?.replications.activity === 'busy') this.#startIdleTimer();
      else this.#election.giveWay();
    }, this.#options.idleMs ?? 2000);
  }
}

/**
 * Whether a request failed because this worker is no longer the owner, and nothing of it was carried out, so that the next owner can carry
 * it out. A core that shuts down refuses a request before it begins, a fenced commit wrote nothing, and a request that only reads
 * can be repeated.
 */
async function isLeftUndone(ownership: Ownership, isReadOnly: boolean, { errorCode }: PlainResponse): Promise<boolean> {
  if (errorCode === 'shutting_down') return true;
  const isUndone = errorCode === 'storage_fenced' || (errorCode === 'storage_closed' && isReadOnly);
  return isUndone && !(await ownership.verify());
}

function sizeOf(body: RequestBody): number {
  if (typeof body === 'string') return body.length;
  if (body instanceof Uint8Array) return body.byteLength;
  return body instanceof Blob ? body.size : 0;
}
