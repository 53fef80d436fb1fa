/**
 * Keeps a core open on IndexedDB for as long as its worker owns the storage.
 *
 *     closed ── open() or a request ──► opening ──► open ── the browser takes the storage away ──► lost
 *                                          ▲                                                        │
 *                                          └───────────────────── next request ─────────────────────┘
 *     open ── `_restart` ──► requests that have begun end, the core is closed ──► opening
 *     any of these ── close(): stores what only the journal holds; drop(): writes nothing more ──► ended
 *
 * A request that failed because the storage was lost is sent once more, to the reopened core, unless it writes and it is unknown
 * whether it has written. A storage that came back empty is a new one to its clients: it has another server uuid, and its databases another
 * `instance_start_time`.
 */

import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { type Clock, pause, type RandomBytes } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { browserEngine } from '../../base/system/browser-engine.ts';
import type { Log, Settings } from '../../base/system/contract.ts';
import { type Core, type CoreOptions, createCore } from '../../core/core.ts';
import type { LoadDeferredCode } from '../../core/deferred/contract.ts';
import { isReadOnlyRequest } from '../../http/request/read-only-requests.ts';
import type { LossReason } from '../../storage/indexeddb/connection.ts';
import { createIndexedDbPageStore } from '../../storage/indexeddb/indexeddb-page-store.ts';
import type { LoadJournalFiles } from '../../storage/indexeddb/journal-files.ts';
import { ReservedDatabases } from '../../storage/indexeddb/reserved-databases.ts';
import type { PageStore } from '../../storage/page-store.ts';
import { withReserve } from '../../storage/reserving-store.ts';
import { storageFenced } from '../../storage/storage-errors.ts';
import type { Instance } from '../bridge/contract.ts';
import { toNetworkAddress } from '../bridge/instance.ts';
import { ActiveRequests } from '../bridge/link/active-requests.ts';
import { PageTokens } from '../bridge/page-tokens.ts';
import { serviceUnavailable } from '../bridge/service-unavailable.ts';
import { isStream } from '../bridge/wire-codec.ts';

export interface CoreSupervisorOptions {
  readonly instance: Instance;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: Log;
  readonly settings?: Settings | undefined;
  readonly deferred: LoadDeferredCode;
  /** Default: the host's own. */
  readonly indexedDB?: IDBFactory | undefined;
  /** See `IndexedDbPageStoreOptions`. */
  readonly journalFiles?: LoadJournalFiles | undefined;
  /** See `CoreOptions`. */
  readonly replications?: CoreOptions['replications'];
  /**
   * Called once, if the browser has closed the storage by force, as when it clears the site's data. The whole worker must then be replaced:
   * nothing more is answered. Without it the storage is opened again.
   */
  readonly onForcedClose?: (() => void) | undefined;
  /** Whether the storage still belongs to this worker; called when a commit was refused because another worker had opened the file since. */
  isStillOwner(): Promise<boolean>;
}

/** A core and the storage that it uses. */
interface Opened {
  readonly core: Core;
  readonly store: PageStore;
  readonly work: ActiveRequests;
  /** Whether another core takes its place: the browser closed the connection, or cleared the data, or a restart was requested. */
  isLost: boolean;
}

/** How long a request waits for a storage that can't be opened at the moment. */
const PATIENCE_MS = 15_000;
const RETRY_MS = 250;
/** How long the browser may take to report that it has closed a file. */
const EVENT_MS = 200;
/** How long work that has begun may go on when the service is restarted. */
const DRAIN_MS = 3_000;

export class CoreSupervisor {
  readonly #options: CoreSupervisorOptions;
  #opened: Opened | undefined;
  #opening: Promise<Opened> | undefined;
  #isEnded = false;
  /** Until the storage was opened once: the lock was granted just now, so that no one else can have the storage. */
  #isFirstOpening = true;

  constructor(options: CoreSupervisorOptions) {
    this.#options = options;
  }

  /** Opens the core if it is not open yet. Fails with the storage's error. */
  async open(): Promise<void> {
    if (this.#opened === undefined) await this.#openOnce();
  }

  /** Never rejects. Waits while the core can't be opened, for some seconds; then answers 503 with the reason. */
  handle(request: PlainRequest): MaybePromise<PlainResponse> {
    return whenReady(this.#opened ?? this.#whenOpen(request.method), (opened) => {
      if ('status' in opened) return opened;
      return whenReady(opened.work.run(opened.core.handle, request), (response) =>
        response.status < 400 ? response : this.#repeatIfLost(opened, request, response),
      );
    });
  }

  get isOpen(): boolean {
    return this.#opened !== undefined;
  }

  /** Undefined while it is not open. */
  get core(): Pick<Core, 'networkIsBack' | 'replications'> | undefined {
    return this.#opened?.core;
  }

  /** Refuses new requests, stores what only the journal holds, and closes the storage. */
  async close(): Promise<void> {
    const opened = await this.#end();
    await opened?.core.close();
  }

  /** Releases the storage without writing anything more. */
  async drop(): Promise<void> {
    const opened = await this.#end();
    if (opened !== undefined) await abandon(opened);
  }

  async #end(): Promise<Opened | undefined> {
    if (this.#isEnded) return undefined;
    this.#isEnded = true;
    this.#opened?.core.beginShutdown();
    const opened = this.#opened ?? (await this.#opening?.catch(() => undefined));
    this.#opened = undefined;
    return opened;
  }

  /** Resolves to the response to the request if the core can't be opened. */
  async #whenOpen(method: string): Promise<Opened | PlainResponse> {
    const { clock } = this.#options;
    const deadline = clock.monotonic() + PATIENCE_MS;
    for (;;) {
      try {
        const opened = this.#opened ?? (await this.#openOnce());
        if (!this.#isEnded) return opened;
      } catch (error) {
        if (this.#isEnded || clock.monotonic() > deadline) return unavailable(error, method);
        await pause(RETRY_MS);
      }
    }
  }

  /** All requests that wait for the core share one attempt. */
  #openOnce(): Promise<Opened> {
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  /** A client that requests a restart gets its response while the restart goes on; requests that arrive meanwhile wait for the next core. */
  async #restart(): Promise<void> {
    const opened = this.#opened;
    // Another one is in progress.
    if (opened === undefined || this.#isEnded) return;
    this.#options.log.info('the service is reopened: a restart was requested');
    opened.isLost = true;
    this.#opened = undefined;
    this.#opening = this.#reopen(opened).finally(() => {
      this.#opening = undefined;
    });
    // The next request tries again.
    this.#opening.catch(() => undefined);
  }

  async #reopen({ core, store, work }: Opened): Promise<Opened> {
    // This ends feeds; other requests that have begun go on.
    core.beginShutdown();
    await work.idle(DRAIN_MS);
    await core.close().catch((error: unknown) => {
      this.#options.log.error('the service could not be closed properly before the restart', error);
      return store.close().catch(() => undefined);
    });
    return this.#open();
  }

  async #open(): Promise<Opened> {
    if (this.#isEnded) throw new DatabaseError('shutting_down', 'This tab has released the storage; try again.');
    const { instance, settings } = this.#options;
    let opened: Opened | undefined;
    let isLost = false;
    const onLost = (file: string, why: LossReason): void => {
      isLost = true;
      if (why === 'forced' && this.#options.onForcedClose) this.#giveUp(this.#options.onForcedClose);
      else if (opened !== undefined) this.#lose(opened, `the browser closed ${file}`);
    };
    const options = { ...this.#options, prefix: `${instance.name}|` };
    const store = withReserve(createIndexedDbPageStore({ ...options, onLost }), new ReservedDatabases(options));
    try {
      const basePath = new URL(instance.base).pathname.slice(0, -1);
      const storage = openedByOwnerOnly(store, async () => this.#isFirstOpening || this.#options.isStillOwner());
      const engine = browserEngine(userAgent());
      const core = await createCore({
        ...this.#options,
        storage,
        basePath,
        engine,
        config: settings,
        network: {
          fetch: (url, init) => fetch(toNetwork(instance, url), init),
          isBrowserFetch: true,
          isOnline,
          tokenSource: new PageTokens(instance),
        },
        ownBase: () => ownBaseOf(instance),
        restart: () => this.#restart(),
      });
      opened = { core, store, work: new ActiveRequests(), isLost };
    } catch (error) {
      await store.close().catch(() => undefined);
      throw error;
    } finally {
      this.#isFirstOpening = false;
    }
    if (!isLost && !this.#isEnded) this.#opened = opened;
    return opened;
  }

  async #repeatIfLost(opened: Opened, request: PlainRequest, response: PlainResponse): Promise<PlainResponse> {
    if (!(await this.#shouldRepeat(opened, request, response))) return response;
    const again = await this.#whenOpen(request.method);
    return 'status' in again ? again : again.work.run(again.core.handle, request);
  }

  async #shouldRepeat(opened: Opened, request: PlainRequest, { errorCode }: PlainResponse): Promise<boolean> {
    const isGone = errorCode === 'storage_closed' || errorCode === 'storage_fenced';
    // If the browser has closed the storage by force, its event comes after the failures of what was in progress.
    if (isGone && !opened.isLost && this.#options.onForcedClose) await pause(EVENT_MS);
    if (errorCode === 'storage_closed') this.#lose(opened, 'a request found the storage closed');
    else if (errorCode === 'storage_fenced' && (await this.#options.isStillOwner())) {
      this.#lose(opened, 'another worker has opened the storage');
    }
    if (!opened.isLost || this.#isEnded || isStream(request.body)) return false;
    const wroteNothing = isGone || errorCode === 'shutting_down';
    return wroteNothing || isReadOnlyRequest(request, this.#options.instance.base);
  }

  /**
   * Leaves everything as it is. In Chromium the call that closes a file of the origin's private file system never returns once the data were cleared,
   * and this context still has the locks of the former storage: a new worker has neither problem.
   */
  #giveUp(onForcedClose: () => void): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#opened = undefined;
    this.#opening = new Promise(() => {});
    onForcedClose();
  }

  /** Gives the storage up, so that the next request reopens it. */
  #lose(opened: Opened, why: string): void {
    if (opened.isLost || this.#isEnded) return;
    opened.isLost = true;
    if (this.#opened === opened) this.#opened = undefined;
    this.#options.log.info(`the storage is reopened: ${why}`);
    void abandon(opened);
  }
}

/**
 * If the base is at another origin, a server may also answer there, and the app's service worker answers in its place: replications with
 * that address mean the server.
 */
function ownBaseOf({ base }: Instance): string | undefined {
  const location: { readonly origin: string } | undefined = Reflect.get(globalThis, 'location');
  return location?.origin === new URL(base).origin ? base.slice(0, -1) : undefined;
}

function toNetwork(instance: Instance, url: RequestInfo | URL): RequestInfo {
  return url instanceof Request ? url : toNetworkAddress(instance, String(url));
}

/** Empty outside of browsers, where tests run. */
function userAgent(): string {
  const navigator: { readonly userAgent: string } | undefined = Reflect.get(globalThis, 'navigator');
  return navigator?.userAgent ?? '';
}

function isOnline(): boolean {
  const navigator: { readonly onLine?: boolean } | undefined = Reflect.get(globalThis, 'navigator');
  return navigator?.onLine !== false;
}

/**
 * Opening a file takes it from its present holder. A worker that lost the storage while it was frozen, and learns of that by a refused
 * commit, must not take it back. So it opens and removes files only if it still is the owner.
 */
function openedByOwnerOnly(store: PageStore, isStillOwner: () => Promise<boolean>): PageStore {
  const mustOwn = async (file: string): Promise<void> => {
    if (!(await isStillOwner())) throw storageFenced(file);
  };
  return {
    supports: store.supports,
    list: () => store.list(),
    open: async (file, mode) => {
      await mustOwn(file);
      return store.open(file, mode);
    },
    destroy: async (file) => {
      await mustOwn(file);
      return store.destroy(file);
    },
    get openFiles() {
      return store.openFiles ?? 0;
    },
    close: () => store.close(),
  };
}

/** Closes the storage first, so that the core can no longer write to it and only ends its background work. */
async function abandon({ core, store }: Opened): Promise<void> {
  core.beginShutdown();
  await store.close().catch(() => undefined);
  await core.close().catch(() => undefined);
}

/** The response to a request while the storage can't be opened. */
function unavailable(failure: unknown, method: string): PlainResponse {
  return isDatabaseError(failure)
    ? { ...serviceUnavailable(failure.reason, method, failure.code), errorCode: failure.code }
    : serviceUnavailable(`The storage can't be opened: ${String(failure)}; try again`, method);
}
