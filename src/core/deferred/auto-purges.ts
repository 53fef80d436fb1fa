/** When automatic purges run (docs/http/databases.md#automatic-purge). What they do is loaded on first use: most services never purge. */
import { isDatabaseError } from '../../base/errors/database-error.ts';
import { type Clock, startBackgroundTimer } from '../../base/shared/clock.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import type { AutoPurge, PurgePlan } from '../../database/purging/contract.ts';
import type { Placement, Registry } from '../../database/registry/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import type { DeferredCode, PurgeCode } from './contract.ts';
import type { Deferred } from './deferred.ts';

/** How long the first run waits after the start at most: others need the thread then, and a machine may just be setting its clock. */
const MAX_FIRST_WAIT_MS = 300_000;
/** How long a purge waits that a compaction cut off. */
const RETRY_MS = 10_000;
/** If the setting is unset. */
const DEFAULT_INTERVAL_MS = 3_600_000;
/** The name under which the list of databases keeps the names of those with a period of their own: the others need not be opened to know that. */
const NOTE = 'auto_purge';
/** Each attempt that fails means that another server has succeeded. */
const MAX_NOTE_ATTEMPTS = 100;

export interface AutoPurgesOptions {
  readonly registry: Registry;
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  /** Which databases are this process's own, if it shares them. Default: all. */
  readonly placement?: Pick<Placement, 'owns'> | undefined;
}

export class AutoPurges implements AutoPurge {
  readonly #code: Deferred<DeferredCode>;
  readonly #options: AutoPurgesOptions;
  #stopTimer: (() => void) | undefined;
  #stopRetry: (() => void) | undefined;
  /** The databases that are tried again when the timer ends. */
  readonly #retries = new Set<string>();
  /** Those whose purge waits for the ones before it. */
  readonly #due = new Set<string>();
  #isEnded = false;
  /** Settles when all changes of the note are kept. */
  #noting: Promise<unknown> = Promise.resolve();
  /** Settles when all purges that were begun are done. */
  #running: Promise<void> = Promise.resolve();

  constructor(code: Deferred<DeferredCode>, options: AutoPurgesOptions) {
    this.#code = code;
    this.#options = options;
  }

  /** Purges from now on, again and again. */
  begin(): void {
    this.#wait(Math.min(this.#intervalMs, MAX_FIRST_WAIT_MS));
  }

  get #intervalMs(): number {
    return integerSetting(this.#options.config, 'auto_purge', 'interval') ?? DEFAULT_INTERVAL_MS;
  }

  #wait(ms: number): void {
    if (this.#isEnded) return;
    this.#stopTimer = startBackgroundTimer(ms, () => {
      void this.#inOrder(() => this.#purgeAll()).then(() => this.#wait(this.#intervalMs));
    });
  }

  /** Runs the work after what was begun before. Never fails. */
  #inOrder(work: () => Promise<void>): Promise<void> {
    this.#running = this.#running
      .then(work)
      .catch((error: unknown) => this.#options.log.error('an automatic purge failed; the next run tries again', error));
    return this.#running;
  }

  async #purgeAll(): Promise<void> {
    const { registry, config } = this.#options;
    // A server that has had no requests may know neither databases nor periods.
    await registry.refresh?.();
    const own = this.#withPeriod();
    if (own.length === 0 && config.get('auto_purge', 'deleted_document_ttl') === undefined) return;
    const { defaultTtl } = await this.#load();
    const names = defaultTtl(config) === undefined ? own.filter((name) => registry.has(name)) : registry.names();
    for (const name of names) await this.#purge(name);
  }

  async #purge(name: string): Promise<void> {
    const { registry, config, clock, log, placement } = this.#options;
    if (this.#isEnded || placement?.owns(name) === false) return;
    const { purge } = await this.#load();
    try {
      const options = { config, clock, log, isEnded: () => this.#isEnded };
      const { isComplete } = await registry.use(name, (database) => purge(database, options));
      if (!isComplete) this.#retryLater(name);
    } catch (error) {
      const isGone = isDatabaseError(error, 'storage_deleted') || isDatabaseError(error, 'not_found');
      if (this.#isEnded || isGone) return;
      log.error(`the automatic purge of ${name} failed; the next run tries again`, error);
    }
  }

  #retryLater(name: string): void {
    if (this.#isEnded) return;
    this.#retries.add(name);
    this.#stopRetry ??= startBackgroundTimer(RETRY_MS, () => {
      this.#stopRetry = undefined;
      for (const each of this.#retries) this.#purgeSoon(each);
      this.#retries.clear();
    });
  }

  /** One run sees all that was set before it begins. */
  #purgeSoon(name: string): void {
    if (this.#due.has(name)) return;
    this.#due.add(name);
    void this.#inOrder(() => {
      this.#due.delete(name);
      return this.#purge(name);
    });
  }

  async changed(database: string): Promise<void> {
    // One after another: each begins with the names that the one before has kept.
    const noted = this.#noting.then(() => this.#note(database));
    this.#noting = noted.catch(() => undefined);
    if (await noted) this.#purgeSoon(database);
  }

  /** Keeps whether the database has a period of its own; returns it. Several servers may keep another name at the same time. */
  async #note(database: string): Promise<boolean> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#noteOnce(database);
      } catch (error) {
        if (!isDatabaseError(error, 'conflict') || attempt >= MAX_NOTE_ATTEMPTS) throw error;
      }
    }
  }

  /** Fails with `conflict` if another server was faster. */
  async #noteOnce(database: string): Promise<boolean> {
    const { registry } = this.#options;
    // If another server keeps the names, the last change has to be read there.
    await registry.refresh?.();
    const former = { text: registry.notes.get(NOTE) };
    const names = new Set(this.#withPeriod().filter((name) => registry.has(name)));
    const isSet = await registry.use(database, ({ autoPurge }) => autoPurge !== '{}');
    if (isSet === names.has(database)) return isSet;
    if (isSet) names.add(database);
    else names.delete(database);
    await registry.keepNote(NOTE, names.size === 0 ? undefined : JSON.stringify([...names].sort()), former);
    return isSet;
  }

  #withPeriod(): readonly string[] {
    const note = this.#options.registry.notes.get(NOTE);
    return note === undefined ? [] : (JSON.parse(note) as string[]);
  }

  async plan(database: Database): Promise<PurgePlan> {
    const { config, clock } = this.#options;
    return (await this.#load()).plan(database, config, clock);
  }

  async #load(): Promise<PurgeCode> {
    return this.#code.use((code) => code.purges);
  }

  /** Begins nothing more. Resolves when the purge that is under way has ended. */
  async close(): Promise<void> {
    this.#isEnded = true;
    this.#stopTimer?.();
    this.#stopRetry?.();
    await this.#running;
  }
}
