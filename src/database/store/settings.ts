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
  snapshotMaxAgeMs: 60_000,
};
