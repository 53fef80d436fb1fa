import type { UpkeepSettings } from './upkeep/upkeep.ts';

/** Bounds of one open database. All are about memory and pace; none changes what is stored. */
export interface DatabaseSettings extends UpkeepSettings {
  /** Bytes of tree nodes and body pages that are kept for reading, where databases don't share a budget. */
  readonly cacheBytes: number;
  /** A commit takes in requests up to this much document text. */
  readonly groupBytes: number;
  /** Bodies get pages of their own from this many bytes in one commit on; below that they travel in the journal. */
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
  snapshotMaxAgeMs: 60_000,
};
