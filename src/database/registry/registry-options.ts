import type { CacheBudget } from '../../base/shared/cache-budget.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import type { PageStore } from '../../storage/page-store.ts';
import type { Md5 } from '../documents/md5.ts';
import type { CreateWriteGuard, DatabaseCounters } from '../store/contract.ts';
import type { DatabaseSettings } from '../store/settings.ts';

/** The parts of a registry. */
export interface RegistryOptions {
  readonly store: PageStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly config: Config;
  readonly log: Log;
  readonly settings?: Partial<DatabaseSettings>;
  /** What all databases together keep for reading; without one they share a budget of `settings.cacheBytes`. */
  readonly cache?: CacheBudget;
  /** Validates writes to the databases; without one all are accepted. */
  readonly createGuard?: CreateWriteGuard;
  /** Shows compactions; without it they are not shown. */
  readonly tasks?: ActiveTasks;
  /** Without them nothing is counted. */
  readonly counters?: DatabaseCounters;
  /** The host's own, if it has a faster one than WebAssembly. */
  readonly md5?: Md5 | undefined;
  /** If given, damaged journals are cut off instead of refused; it receives the file, and what is dropped. */
  readonly onRepair?: ((file: string, repair: string) => void) | undefined;
}
