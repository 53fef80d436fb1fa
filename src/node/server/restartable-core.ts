/**
 * A core that can be closed and reopened while the server listens on (docs/http/server.md#restart). Requests that arrive meanwhile wait for the
 * new one; requests that the old one has begun end before it is closed.
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Log } from '../../base/system/contract.ts';
import type { SettingsStore } from '../../core/config/config-store.ts';
import type { Core } from '../../core/core.ts';

/**
 * Waits for `work`, but no longer than `deadlineMs`: then rejects with the error that `describe` returns. The work itself
 * goes on, and its outcome is ignored.
 */
async function within<T>(work: Promise<T>, deadlineMs: number, describe: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(describe()), deadlineMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long requests of the old core may take to end. */
const DRAIN_MS = 10_000;

export interface RestartableCoreOptions {
  /** Returns the settings for the next core. Fails with `bad_request` if none are available. */
  configure(): Promise<SettingsStore>;
  open(config: SettingsStore): Promise<Core>;
  readonly log: Log;
  /** How long the storage may take to close. */
  readonly closeMs: number;
}

export class RestartableCore {
  readonly #options: RestartableCoreOptions;
  #core: Core | undefined;
  #config: SettingsStore;
  /** Defined until the next core is ready. It never rejects. */
  #opening: Promise<void> | undefined;
  #isEnding = false;
  /** The storage did not finish closing: it must not be opened again. */
  #hangs = false;
  #running = 0;
  #onIdle: (() => void) | undefined;

  private constructor(options: RestartableCoreOptions, config: SettingsStore, core: Core) {
    this.#options = options;
    this.#config = config;
    this.#core = core;
  }

  static async open(options: RestartableCoreOptions, config: SettingsStore): Promise<RestartableCore> {
    return new RestartableCore(options, config, await options.open(config));
  }

  /** The present settings. */
  get config(): SettingsStore {
    return this.#config;
  }

  /** Whether the storage did not close in time. */
  get hangs(): boolean {
    return this.#hangs;
  }

  handle(request: PlainRequest): MaybePromise<PlainResponse> {
    const core = this.#core;
    if (core === undefined) return this.#handleLater(request);
    const answer = core.handle(request);
    if (!(answer instanceof Promise)) return answer;
    this.#running += 1;
    return answer.finally(() => {
      this.#running -= 1;
      if (this.#running === 0) this.#onIdle?.();
    });
  }

  /**
   * Resolves when it is certain that the core will be closed and reopened, and before that is done. Fails with `bad_request` if the
   * settings for that can't be read; then everything goes on as before.
   */
  async restart(): Promise<void> {
    const config = await this.#options.configure();
    if (this.#isEnding || this.#opening !== undefined) return;
    this.#opening = this.#reopen(config).finally(() => {
      this.#opening = undefined;
    });
  }

  beginShutdown(): void {
    this.#isEnding = true;
    this.#core?.beginShutdown();
  }

  /** Lets running requests end for `drainMs` milliseconds at most. Fails with `storage_blocked` if the storage does not finish closing. */
  async close(drainMs = DRAIN_MS): Promise<void> {
    this.beginShutdown();
    await this.#opening;
    await this.#closeCore(drainMs);
  }

  async #handleLater(request: PlainRequest): Promise<PlainResponse> {
    await this.#opening;
    if (this.#core === undefined && !this.#isEnding) await this.#tryAgain();
    return this.#core === undefined ? notOpen() : this.#core.handle(request);
  }

  async #reopen(config: SettingsStore): Promise<void> {
    const { log } = this.#options;
    try {
      // The response to the client that requested this is sent first.
      await new Promise((resolve) => setImmediate(resolve));
      log.info('the service restarts');
      await this.#closeCore();
      this.#config = config;
      if (!this.#isEnding) this.#core = await this.#options.open(config);
    } catch (error) {
      log.error('The service could not be reopened after a restart.', error);
    }
  }

  /** The last opening failed: the next one may succeed, after the cause was fixed. */
  async #tryAgain(): Promise<void> {
    if (this.#hangs) return;
    this.#opening ??= this.#reopen(this.#config).finally(() => {
      this.#opening = undefined;
    });
    await this.#opening;
  }

  async #closeCore(drainMs = DRAIN_MS): Promise<void> {
    const core = this.#core;
    this.#core = undefined;
    if (core === undefined) return;
    core.beginShutdown();
    if (this.#running > 0) await this.#idle(drainMs);
    const { closeMs } = this.#options;
    await within(core.close(), closeMs, () => {
      this.#hangs = true;
      return hangs(closeMs);
    });
  }

  /** Waits for the requests in progress, but not forever: those that remain are then broken off. */
  async #idle(drainMs: number): Promise<void> {
    const idle = new Promise<void>((resolve) => {
      this.#onIdle = resolve;
    });
    await within(idle, drainMs, () => new Error('requests take too long')).catch(() => undefined);
    this.#onIdle = undefined;
  }
}

function notOpen(): PlainResponse {
  const reason =
    'The service could not be reopened after a restart; its log says why. Try again, or start the server again.';
  return {
    status: 503,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    body: `${JSON.stringify({ error: 'service_unavailable', reason })}\n`,
  };
}

function hangs(closeMs: number): DatabaseError {
  const reason = `The storage did not close within ${closeMs / 1000} seconds. Acknowledged writes are not lost. End the process, and check the disk.`;
  return new DatabaseError('storage_blocked', reason);
}
