import { setTimeout as wait } from 'node:timers/promises';
import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { SettingsStore } from '../../core/config/config-store.ts';
import type { Home, SharedHome } from './home.ts';
import { RestartableCore, type RestartableCoreOptions } from './restartable-core.ts';
import { answerWithoutStorage } from './without-storage.ts';

/** How long to wait after the databases could not be opened, in milliseconds: another server may take them meanwhile. */
const RETRY_MS = 5000;
/** How long requests may take to end if another server waits for the storage, in milliseconds. */
const AWAITED_DRAIN_MS = 500;

interface OwnedServiceOptions extends RestartableCoreOptions {
  readonly home: Home;
  /** Where the server answers; undefined until it does. */
  readonly ownUrl: () => string | undefined;
  /** Headers with which a page of another origin may read a response to this request. */
  readonly headersFor: (request: PlainRequest) => Readonly<Record<string, string>>;
}

/**
 * The service of a server: open while the server owns the place where the databases are. If servers share that place, it stands by until it is free, and
 * does so again after it was lost.
 */
export class OwnedService {
  readonly #options: OwnedServiceOptions;
  #config: SettingsStore;
  #core: RestartableCore | undefined;
  readonly #end = new AbortController();
  /** A core that is being opened, and those that are being closed because the storage was lost. They never reject. */
  readonly #underWay = new Set<Promise<unknown>>();

  private constructor(options: OwnedServiceOptions, config: SettingsStore) {
    this.#options = options;
    this.#config = config;
  }

  /** Takes the place, and opens the service; or begins to stand by. Rejects like `Home.take`, and if the service can't be opened. */
  static async open(options: OwnedServiceOptions, config: SettingsStore): Promise<OwnedService> {
    const service = new OwnedService(options, config);
    const { shared } = options.home;
    if (shared !== undefined) shared.onLost = (why) => service.#lose(shared, why);
    if (await options.home.take(config)) {
      service.#core = await RestartableCore.open(options, config);
      if (shared?.isOwner === false) service.#lose(shared, 'it was lost while the service was opened');
    } else if (shared !== undefined) void service.#standBy(shared);
    return service;
  }

  /** The present settings. */
  get config(): SettingsStore {
    return this.#core?.config ?? this.#config;
  }

  /** Whether the storage did not close in time. */
  get hangs(): boolean {
    return this.#core?.hangs ?? false;
  }

  handle(request: PlainRequest): MaybePromise<PlainResponse> {
    const { home, ownUrl, headersFor } = this.#options;
    if (this.#core !== undefined && home.isHeld) return this.#core.handle(request);
    return answerWithoutStorage(request, {
      // Others are held from their start to their end.
      home: home.shared ?? { isOwner: true, owner: undefined, rollback: undefined, machine: '' },
      isOpen: this.#core !== undefined,
      ownUrl: ownUrl(),
      headers: headersFor(request),
    });
  }

  /** See `RestartableCore.restart`. */
  async restart(): Promise<void> {
    await this.#core?.restart();
  }

  /** How long running requests may take to end, in milliseconds; undefined for the usual time. */
  get drainMs(): number | undefined {
    return this.#options.home.shared?.isAwaited === true ? AWAITED_DRAIN_MS : undefined;
  }

  beginShutdown(): void {
    this.#end.abort();
    this.#core?.beginShutdown();
  }

  /** Fails with `storage_blocked` if the storage does not finish closing. */
  async close(): Promise<void> {
    this.beginShutdown();
    await Promise.all(this.#underWay);
    await this.#core?.close(this.drainMs);
  }

  #lose(shared: SharedHome, why: string): void {
    const core = this.#core;
    if (core === undefined) return;
    const { log, home } = this.#options;
    this.#config = core.config;
    this.#core = undefined;
    log.error(`${home.place} is not this server's any more: ${why}. It stands by.`);
    // What it has begun is fenced as soon as another server opens the same database.
    const closing = core
      .close(0)
      .catch((error: unknown) => log.error('The service could not be closed cleanly.', error));
    void this.#track(closing);
    void this.#standBy(shared);
  }

  async #standBy(shared: SharedHome): Promise<void> {
    const { log, home } = this.#options;
    while (!this.#end.signal.aborted) {
      try {
        await shared.takeWhenFree();
        await this.#track(this.#openTaken(shared));
        if (this.#core === undefined) continue;
        log.info(`this server serves ${home.place} now`);
        return;
      } catch (error) {
        if (isDatabaseError(error, 'storage_closed') || shared.rollback !== undefined) return;
        log.error(`This server has taken ${home.place}, but can't serve it.`, error);
        await shared.giveUp();
        await wait(RETRY_MS, undefined, { signal: this.#end.signal }).catch(() => undefined);
      }
    }
  }

  /** Settings may have changed since this server was started. */
  async #openTaken(shared: SharedHome): Promise<void> {
    if (this.#end.signal.aborted) return;
    const config = await this.#options.configure();
    const core = await RestartableCore.open(this.#options, config);
    if (shared.isOwner) this.#core = core;
    // It was lost meanwhile.
    else await core.close(0).catch(() => undefined);
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    const settled = work.catch(() => undefined);
    this.#underWay.add(settled);
    try {
      return await work;
    } finally {
      this.#underWay.delete(settled);
    }
  }
}
