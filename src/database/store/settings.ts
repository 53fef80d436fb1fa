import type { CacheBudget } from '../../base/shared/cache-budget.ts';
import type { Clock } from '../../base/shared/clock.ts';
import type { ActiveTasks } from '../../base/system/active-tasks.ts';
import type { Log } from '../../base/system/contract.ts';
import type { PageFile, PageStoreSupport } from '../../storage/page-store.ts';
import type { RevisionHasher } from '../documents/revisions/revision-hash.ts';
import type { CreateWriteGuard, DatabaseCounters } from './contract.ts';
import type { UpkeepSettings } from './upkeep/upkeep.ts';

/** Limits of one open database. All concern memory and pace; none changes what is stored. */
export interface DatabaseSettings extends UpkeepSettings {
  /** Bytes of tree nodes and body pages that are kept for reading, if databases don't share a budget. */
  readonly cacheBytes: number;
  /** A commit takes requests up to this much document text. */
  readonly groupBytes: number;
  /** Bodies of a commit with at least this many bytes get their own pages; smaller ones are stored in the journal. */
  readonly packFrom: number;
  /** Milliseconds after which a reader's hold on old pages ends. */
  readonly snapshotMaxAgeMs: number;
}

export const defaultSettings: DatabaseSettings = {
  cacheBytes: 32 * 2 ** 20,
  journalBytes: 768 * 1024,
  journalRecords: 1_000,
  dirtyBytes: 12 * 2 ** 20,
  sliceBytes: 2 * 2 ** 20,
  groupBytes: 4 * 2 ** 20,
  packFrom: 64 * 1024,
  idleMs: 2_000,
  restMs: 30_000,
  snapshotMaxAgeMs: 60_000,
};

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
