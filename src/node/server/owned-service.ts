import { setTimeout as wait } from 'node:timers/promises';
import { isDatabaseError, messageOf } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { SettingsStore } from '../../core/config/config-store.ts';
import type { Core } from '../../core/core.ts';
import type { Home, SharedHome } from './home.ts';
import { RestartableCore, type RestartableCoreOptions } from './restartable-core.ts';
import { answerWithoutStorage } from './without-storage.ts';

/** How long to wait after the databases could not be opened, in milliseconds: another server may take them meanwhile. */
const RETRY_MS = 5000;
/** How long requests may take to end if another server waits for the storage, in milliseconds. */
const AWAITED_DRAIN_MS = 500;

/** How long requests wait while a server that serves beside others becomes the owner, or is no longer the owner, in milliseconds. */
const MAX_CHANGE_MS = 10_000;
/** How often a server tries to serve beside the owner that can't yet, in milliseconds: there may be no list of databases before that one has begun it. */
const MEMBER_RETRY_MS = 200;

interface OwnedServiceOptions extends RestartableCoreOptions {
  readonly home: Home;
  /** What a server does that owns some databases while another one owns the storage. Default: it stands by. */
  readonly member?: MemberService | undefined;
  /** Where the server answers; undefined until it does. */
  readonly ownUrl: () => string | undefined;
  /** Headers with which a page of another origin may read a response to this request. */
  readonly headersFor: (request: PlainRequest) => Readonly<Record<string, string>>;
}

export interface MemberService {
  open(config: SettingsStore): Promise<Core>;
  /** Those of the owner of the storage; undefined until they have come. */
  readonly settings: ConfigStore | undefined;
}

/**
 * The service of a server: open while the server owns the place where the databases are. If servers share that place, it stands by until it is free, and
 * does so again after it was lost.
 */
export class OwnedService {
  readonly #options: OwnedServiceOptions;
  #config: SettingsStore;
  #core: RestartableCore | undefined;
  /** Serves while another server owns the storage. */
  #member: RestartableCore | undefined;
  /** Defined while one of them is to follow the other: resolves when it is open. */
  #change: { readonly done: Promise<void>; readonly end: () => void } | undefined;
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
  get config(): ConfigStore {
    return this.#core?.config ?? (this.#member && this.#options.member?.settings) ?? this.#config;
  }

  /** Whether the storage did not close in time. */
  get hangs(): boolean {
    return this.#core?.hangs ?? this.#member?.hangs ?? false;
  }

  handle(request: PlainRequest): MaybePromise<PlainResponse> {
    return this.#change === undefined ? this.#handleNow(request) : this.#handleLater(request, this.#change.done);
  }

  async #handleLater(request: PlainRequest, changed: Promise<void>): Promise<PlainResponse> {
    const waited = new AbortController();
    const late = wait(MAX_CHANGE_MS, undefined, { signal: waited.signal }).catch(() => undefined);
    await Promise.race([changed, late]);
    waited.abort();
    return this.#handleNow(request);
  }

  #handleNow(request: PlainRequest): MaybePromise<PlainResponse> {
    const { home } = this.#options;
    // The server that has sent it soon finds another one.
    const isLeaving = this.#end.signal.aborted && (request.hops ?? 0) > 0;
    if (isLeaving) return this.#answerWithout(request);
    if (this.#core !== undefined && home.isHeld) return this.#core.handle(request);
    if (this.#member !== undefined && home.shared?.rollback === undefined) return this.#member.handle(request);
    return this.#answerWithout(request);
  }

  #answerWithout(request: PlainRequest): PlainResponse {
    const { home, ownUrl, headersFor } = this.#options;
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
    await (this.#core ?? this.#member)?.restart();
  }

  /** How long running requests may take to end, in milliseconds; undefined for the usual time. */
  get drainMs(): number | undefined {
    return this.#options.home.shared?.isAwaited === true ? AWAITED_DRAIN_MS : undefined;
  }

  beginShutdown(): void {
    this.#end.abort();
    this.#endChange();
    this.#core?.beginShutdown();
    this.#member?.beginShutdown();
  }

  /** Fails with `storage_blocked` if the storage does not finish closing. */
  async close(): Promise<void> {
    this.beginShutdown();
    await Promise.all(this.#underWay);
    await this.#core?.close(this.drainMs);
    await this.#member?.close(this.drainMs);
  }

  /** Requests wait from now on. Those of a server that only stands by don't: others answer them. */
  #beginChange(): void {
    if (this.#options.member === undefined || this.#change !== undefined || this.#end.signal.aborted) return;
    let end: () => void = () => undefined;
    const done = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#change = { done, end };
  }

  #endChange(): void {
    this.#change?.end();
    this.#change = undefined;
  }

  #lose(shared: SharedHome, why: string): void {
    const core = this.#core;
    if (core === undefined) return;
    const { log, home } = this.#options;
    this.#config = core.config;
    this.#core = undefined;
    this.#beginChange();
    log.error(`${home.place} is not this server's any more: ${why}. It stands by.`);
    // What it has begun is fenced as soon as another server opens the same database.
    const closing = core
      .close(0)
      .catch((error: unknown) => log.error('The service could not be closed cleanly.', error));
    void this.#standBy(shared, this.#track(closing));
  }

  /** `closed`: when a service that was open before has ended. */
  async #standBy(shared: SharedHome, closed: Promise<void> = Promise.resolve()): Promise<void> {
    const { log, home } = this.#options;
    while (!this.#end.signal.aborted) {
      const taking = new AbortController();
      const serving = this.#track(closed.then(() => this.#serveAsMember(taking.signal)));
      try {
        await shared.takeWhenFree();
        this.#beginChange();
        taking.abort();
        await serving;
        await this.#track(this.#openTaken(shared));
        this.#endChange();
        if (this.#core === undefined) continue;
        log.info(`this server serves ${home.place} now`);
        return;
      } catch (error) {
        taking.abort();
        await serving;
        this.#endChange();
        if (isDatabaseError(error, 'storage_closed') || shared.rollback !== undefined) return;
        log.error(`This server has taken ${home.place}, but can't serve it.`, error);
        await shared.giveUp();
        await wait(RETRY_MS, undefined, { signal: this.#end.signal }).catch(() => undefined);
      }
    }
  }

  /** Serves until this server takes the storage, or ends. Never fails. */
  async #serveAsMember(taken: AbortSignal): Promise<void> {
    const { member, log } = this.#options;
    const ends = AbortSignal.any([taken, this.#end.signal]);
    let lastReason = '';
    while (member !== undefined && !ends.aborted && this.#member === undefined) {
      try {
        const options = { ...this.#options, open: (config: SettingsStore) => member.open(config) };
        const core = await RestartableCore.open(options, await this.#options.configure());
        this.#member = core;
        // If the storage was taken meanwhile, requests wait for the next service.
        if (!taken.aborted) this.#endChange();
        log.info('this server serves databases beside the one that owns the storage');
      } catch (error) {
        if (messageOf(error) !== lastReason) log.debug(`this server can't serve yet: ${messageOf(error)}`);
        lastReason = messageOf(error);
        await wait(MEMBER_RETRY_MS, undefined, { signal: ends }).catch(() => undefined);
      }
    }
    if (!taken.aborted && !ends.aborted) await new Promise((resolve) => ends.addEventListener('abort', resolve));
    // At the end of the server, `close` closes it after its requests.
    if (!taken.aborted) return;
    const core = this.#member;
    this.#member = undefined;
    await core
      ?.close(AWAITED_DRAIN_MS)
      .catch((error: unknown) => log.error('The service could not be closed cleanly.', error));
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
