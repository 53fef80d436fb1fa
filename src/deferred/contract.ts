/**
 * What the core sees of what can be loaded on first use: the functions of documents (views, validators, shows, lists, updates, rewrites),
 * selector queries, and handlers that few requests need.
 */
import type { Database } from '../database/contract.ts';
import type { DesignPrograms, StoredDesign } from '../design/design-programs.ts';
import type { Validators } from '../design/write-validation.ts';
import type { Finder } from '../find/contract.ts';
import type { FunctionHandlers } from '../http/routing/deferred-handlers.ts';
import type { CacheBudget } from '../shared/cache-budget.ts';
import type { Clock } from '../shared/clock.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import type { PageStore } from '../storage/page-store.ts';
import type { ActiveTasks } from '../system/active-tasks.ts';
import type { Config, Log } from '../system/contract.ts';
import type { Databases } from '../views/background-builds.ts';
import type { ViewIndexes } from '../views/contract.ts';

export interface FunctionParts {
  readonly databases: Databases;
  readonly store: PageStore;
  readonly clock: Clock;
  readonly config: Config;
  readonly log: Log;
  readonly cache: CacheBudget;
  /** Where builds of indexes are shown. */
  readonly tasks: ActiveTasks;
  /** See `CoreOptions`. */
  readonly engine?: string;
}

/** All that runs functions of documents, for one core. */
export interface FunctionService {
  readonly handlers: FunctionHandlers;
  readonly views: ViewIndexes;
  readonly programs: Pick<DesignPrograms, 'open'>;
  readonly finder: Finder;
  openValidators(database: Database, designs: readonly StoredDesign[]): Promise<Validators>;
  /** Builds the indexes of that database in the background. */
  buildSoon(name: string): void;
  /** Begins nothing more in the background, and closes the indexes. */
  closeIndexes(): Promise<void>;
  /** Ends the sandbox. Call it when the views and the databases are closed. */
  close(): void;
}

/** Loads nothing more, and runs nothing yet. */
export type CreateFunctions = (parts: FunctionParts) => FunctionService;

/**
 * Gets hold of the code. Called when it is first needed, and again at the next need after it failed, never twice at a time.
 * A host that has the code at hand gives it at once. An error's message goes to whoever asked: it says what to do.
 */
export interface LoadFunctions {
  (): MaybePromise<CreateFunctions>;
  /** Nothing has to be loaded. */
  readonly isAtHand?: boolean;
}
