import type { CacheBudget } from '../../base/shared/cache-budget.ts';
import type { Clock } from '../../base/shared/clock.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import type { Log } from '../../base/system/contract.ts';
import type { PageFile, PageStoreSupport } from '../../storage/page-store.ts';
import type { RevisionHasher } from '../documents/revisions/revision-hash.ts';
import type { CreateWriteGuard, DatabaseCounters } from './contract.ts';
import type { DatabaseSettings } from './settings.ts';

/** The parts of one open database, and what it shares with others. */
export interface DatabaseOptions {
  readonly name: string;
  readonly file: PageFile;
  readonly supports: PageStoreSupport;
  readonly clock: Clock;
  readonly log: Log;
  readonly hasher: RevisionHasher;
  readonly settings?: Partial<DatabaseSettings>;
  /** Shared with other databases; without one it has `settings.cacheBytes` for itself. */
  readonly cache?: CacheBudget | undefined;
  /** Validates its writes; without one all are accepted. */
  readonly createGuard?: CreateWriteGuard | undefined;
  /** Shows compactions; without it they are not shown. */
  readonly tasks?: ActiveTasks | undefined;
  /** Without them nothing is counted. */
  readonly counters?: DatabaseCounters | undefined;
  /** Called once when a commit failed with an unknown outcome: the handle refuses everything from then on. */
  onFailure(error: unknown): void;
}
