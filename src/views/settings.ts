/** Bounds of view indexes. All are about memory and pace; none changes what is stored. */
export interface ViewSettings {
  /** Bytes of tree nodes that all open indexes together keep for reading, where no budget is shared with them. */
  readonly cacheBytes: number;
  /** Rows that a build gathers before it works them into the trees, at most … */
  readonly flushRows: number;
  /** … and this much text of keys and values. */
  readonly flushBytes: number;
  /** Changes that one step works into a tree at most, and as many as take about a turn; between steps others have theirs. */
  readonly stepRows: number;
  /** A checkpoint is made at this many bytes of tree nodes in memory, … */
  readonly dirtyBytes: number;
  /** … in a long build after this many milliseconds, the first time after half of them (and not before four times as long as the last one took), … */
  readonly checkpointMs: number;
  /** … and after this many milliseconds without an update. */
  readonly idleMs: number;
  /** Bytes of pages in one commit. */
  readonly sliceBytes: number;
  /** Milliseconds of work after which others have a turn. */
  readonly turnMs: number;
  /** Indexes that are kept open though nobody uses them. */
  readonly maxIdle: number;
  /** Milliseconds after which a reader's hold on old pages ends. */
  readonly snapshotMaxAgeMs: number;
}

export const defaultViewSettings: ViewSettings = {
  cacheBytes: 16 * 2 ** 20,
  flushRows: 100_000,
  flushBytes: 16 * 2 ** 20,
  stepRows: 1_000,
  dirtyBytes: 24 * 2 ** 20,
  checkpointMs: 3_000,
  idleMs: 1_000,
  sliceBytes: 512 * 1024,
  turnMs: 6,
  maxIdle: 50,
  snapshotMaxAgeMs: 60_000,
};
