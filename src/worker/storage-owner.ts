import type { Instance } from '../bridge/contract.ts';
import { ownerLock } from '../bridge/instance.ts';
import { OpenWork } from '../bridge/link/open-work.ts';
import { type OwnerChannel, serveOwner } from '../bridge/link/owner-channel.ts';
import { isRepeatable } from '../bridge/link/repeatable.ts';
import type { OwnerTerm } from '../bridge/ownership/leadership.ts';
import { createOwnership, type LeaveReason, type Ownership } from '../bridge/ownership/ownership.ts';
import { type SessionShare, shareSession } from '../bridge/ownership/shared-session.ts';
import type { PortOffer } from '../bridge/wire/control.ts';
import type { Carrier } from '../bridge/wire/wire.ts';
import { isStream } from '../bridge/wire/wire-codec.ts';
import type { LoadDeferredCode } from '../deferred/contract.ts';
import { isDatabaseError } from '../errors/database-error.ts';
import { type Clock, systemClock, systemRandom } from '../shared/clock.ts';
import { type MaybePromise, whenReady } from '../shared/maybe-promise.ts';
import type { Handle, PlainRequest, PlainResponse, RequestBody } from '../shared/message.ts';
import type { LoadJournalFiles } from '../storage/indexeddb/journal-files.ts';
import type { Settings } from '../system/config.ts';
import type { Log } from '../system/contract.ts';
import { silentLog } from '../system/log.ts';
import { CookieJar } from './cookie-jar.ts';
import { CoreKeeper, errorOf } from './core-supervisor.ts';

export interface StorageOwnerOptions {
  readonly instance: Instance;
  readonly kind: Carrier;
  readonly locks: LockManager;
  readonly deferred: LoadDeferredCode;
  readonly settings?: Settings | undefined;
  /** Default: none. */
  readonly log?: Log | undefined;
  /** Lets an event reach the service worker; called every 10 s while something is open through it. */
  readonly keepAlive?: (() => void) | undefined;
  /** See `OwnerChannelOptions`. */
  readonly offerPort?: ((offer: PortOffer, port: MessagePort) => void) | undefined;
  /** The host's own by default. */
  readonly indexedDB?: IDBFactory | undefined;
  /** See `IndexedDbPageStoreOptions`. */
  readonly journalFiles?: LoadJournalFiles | undefined;
  readonly clock?: Clock | undefined;
  /** See `OwnershipOptions`. */
  readonly protocol?: number | undefined;
  /** See `OwnershipOptions`. */
  readonly pingMs?: number | undefined;
  /** Milliseconds without work after which a service worker gives the storage up. Default: 2,000. */
  readonly idleMs?: number | undefined;
}

/** What there is while this worker owns the storage. */
interface Tenure {
  readonly ownerId: string;
  readonly keeper: CoreKeeper;
  readonly channel: OwnerChannel;
  readonly work: OpenWork;
  readonly handle: Handle;
}

/** How long what is under way may go on when the storage is given up in order. */
export const DRAIN_MS = 3_000;

/** Attempts to open the storage after which a failure counts as lasting; being blocked never does. */
const LASTING_AFTER = 3;

/** Bytes of a request's body from which on its handling may leave no time for pings. */
const LARGE_BODY = 2 ** 20;
/** A second for each megabyte: twenty times what it takes, for slow machines that do much else. */
const BUSY_MS_PER_BYTE = 0.001;

/**
 * All that it takes to own the storage of an instance: takes part in who owns it, and while it is this worker keeps the core open, answers
 * its own host and, on its channel, everybody else. For a tab's worker and a service worker alike.
 */
export class StorageOwner {
  readonly #options: StorageOwnerOptions;
  readonly #log: Log;
  readonly #jar: CookieJar;
  readonly #session: SessionShare;
  readonly #ownership: Ownership;
  readonly #opened: Promise<void>;
  #noteOpened: () => void = () => {};
  #noteTrouble: (error: unknown) => void = () => {};
  #failures = 0;
  /** The term that was ended because somebody else may have what could not be loaded here. */
  #passedOn: OwnerTerm | undefined;
  #tenure: Tenure | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: StorageOwnerOptions) {
    const { instance, kind, locks, clock = systemClock, protocol, pingMs, log = silentLog } = options;
    this.#options = options;
    this.#log = log;
    this.#opened = new Promise((resolve, reject) => {
      this.#noteOpened = resolve;
      this.#noteTrouble = reject;
    });
    this.#opened.catch(() => {});
    this.#jar = new CookieJar({
      clock,
      base: instance.base,
      onChange: () => this.#session.announce(),
    });
    this.#session = shareSession(instance, this.#jar);
    this.#ownership = createOwnership({
      instance,
      kind,
      locks,
      clock,
      protocol,
      pingMs,
      listen: (ownerId) => {
        this.#tenure = this.#begin(ownerId);
      },
      become: () => this.#become(),
      leave: (why) => this.#leave(why),
      onTrouble: (error) => this.#countTrouble(error),
    });
  }

  /** Resolves when this worker's own core answers for the first time; rejects when its storage can't be opened at all. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  get isOwner(): boolean {
    return this.#ownership.term?.isReady === true;
  }

  /** For a service worker: becomes the owner where nobody is or wants to be. See `Ownership`. */
  takeIfFree(): Promise<boolean> {
    return this.#ownership.takeIfFree();
  }

  /**
   * Answers the request where this worker owns the storage. Undefined where it doesn't: then nothing was done, and the request's body is
   * untouched, so that it can go to whoever does.
   */
  handle(request: PlainRequest): MaybePromise<PlainResponse | undefined> {
    const tenure = this.#tenure;
    const term = this.#ownership.term;
    if (tenure === undefined || term === undefined || term.ownerId !== tenure.ownerId) return undefined;
    return whenReady(term.check(), (isOurs) => (isOurs ? this.#answer(tenure, term, request) : undefined));
  }

  #answer(tenure: Tenure, term: OwnerTerm, request: PlainRequest): MaybePromise<PlainResponse | undefined> {
    if (this.#idleTimer !== undefined) clearTimeout(this.#idleTimer);
    const size = sizeOf(request.body);
    if (size > LARGE_BODY) this.#ownership.announceWork(2000 + size * BUSY_MS_PER_BYTE);
    return whenReady(tenure.work.run(tenure.handle, request), (response) =>
      // A stream can't be sent a second time.
      response.status !== 503 || isStream(request.body) ? response : this.#unlessForNext(term, request, response),
    );
  }

  async #unlessForNext(
    term: OwnerTerm,
    request: PlainRequest,
    response: PlainResponse,
  ): Promise<PlainResponse | undefined> {
    const isRead = isRepeatable(request, this.#options.instance);
    return (await isForNext(term, isRead, response)) || (await this.#passOn(term, response)) ? undefined : response;
  }

  /** Finishes what is under way, stores it, and gives the storage up. */
  async close(): Promise<void> {
    await this.#ownership.close();
    this.#session.close();
  }

  /**
   * After an update of the app an old worker can't load what it has not loaded yet, but a tab that came later can. So the storage is given
   * up, where somebody waits for it; once, since all may be old.
   */
  async #passOn(term: OwnerTerm, response: PlainResponse): Promise<boolean> {
    if (errorOf(response) !== 'functions_unavailable') return false;
    if (this.#passedOn !== undefined) return this.#passedOn === term;
    const { locks, instance } = this.#options;
    const { pending = [] } = await locks.query();
    if (!pending.some(({ name }) => name === ownerLock(instance))) return false;
    this.#passedOn = term;
    this.#ownership.giveWay();
    return true;
  }

  async #become(): Promise<void> {
    await this.#tenure?.keeper.open();
    this.#failures = 0;
    this.#noteOpened();
    this.#rest();
  }

  /** Whoever asks before the core is open waits for it, and sees that somebody is there. */
  #begin(ownerId: string): Tenure {
    const options = this.#options;
    const isStillOwner = async (): Promise<boolean> => (await this.#ownership.term?.holds()) === true;
    const { clock = systemClock } = options;
    const given = { ...options, clock, random: systemRandom, log: this.#log };
    const keeper = new CoreKeeper({ ...given, isStillOwner });
    const handle = this.#jar.around((request) => keeper.handle(request));
    const work = new OpenWork(() => this.#rest());
    const answer = (request: PlainRequest) => this.handle(request);
    const channel = serveOwner({ ...options, ownerId, handle: answer });
    return { ownerId, keeper, channel, work, handle };
  }

  async #leave(why: LeaveReason): Promise<void> {
    const tenure = this.#tenure;
    this.#tenure = undefined;
    clearTimeout(this.#idleTimer);
    if (tenure === undefined) return;
    this.#log.info(`this worker lets go of the storage (${why})`);
    const { channel, work, keeper } = tenure;
    channel.refuse();
    // Where the storage isn't open yet, all that is under way waits for it, and goes to whoever asked.
    const isToEnd = why === 'closing' || (why === 'asked' && keeper.isOpen);
    if (isToEnd && (await work.idle(DRAIN_MS))) await channel.answered();
    channel.leave();
    await (why === 'stolen' ? keeper.drop() : keeper.close()).finally(() => channel.close());
  }

  #countTrouble(error: unknown): void {
    this.#log.error('the storage could not be opened; it is tried again', error);
    this.#failures += 1;
    if (this.#failures >= LASTING_AFTER && !isDatabaseError(error, 'storage_blocked')) this.#noteTrouble(error);
  }

  /** A service worker keeps the storage no longer than it has work. */
  #rest(): void {
    if (this.#options.kind === 'tab') return;
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => {
      if (this.#tenure?.work.count === 0) this.#ownership.giveWay();
    }, this.#options.idleMs ?? 2000);
  }
}

/**
 * Whether a failed answer is none, because this worker is no longer the owner: what a closing core refuses was not begun, a fenced
 * commit wrote nothing, and a read that found the storage closed can be had from the next owner.
 */
async function isForNext(term: OwnerTerm, isRead: boolean, response: PlainResponse): Promise<boolean> {
  const error = errorOf(response);
  if (error === 'shutting_down') return true;
  const isUndone = error === 'storage_fenced' || (error === 'storage_closed' && isRead);
  return isUndone && !(await term.verify());
}

function sizeOf(body: RequestBody): number {
  if (typeof body === 'string') return body.length;
  if (body instanceof Uint8Array) return body.byteLength;
  return body instanceof Blob ? body.size : 0;
}
