/** Bounds of view indexes. They change memory and pace, but nothing that is stored. */
export interface ViewSettings {
  /** Bytes of tree nodes that all open indexes together cache, if the service passes no budget. */
  readonly cacheBytes: number;
  /** The rows that an update collects before it writes them into the trees, … */
  readonly flushRows: number;
  /** … unless their keys and values have this many characters before. */
  readonly flushBytes: number;
  /** The most changes that are written into a tree in one step. A step also ends after about `turnMs`. */
  readonly stepRows: number;
  /** A checkpoint is made at this many bytes of tree nodes in memory, … */
  readonly dirtyBytes: number;
  /**
   * … in a long update after this many milliseconds (the first one after half of them, and none before four times as long as the
   * last one took), …
   */
  readonly checkpointMs: number;
  /** … and this many milliseconds after an update. */
  readonly idleMs: number;
  /** Bytes of pages in one commit. */
  readonly sliceBytes: number;
  /** Milliseconds of work after which other work gets a turn. */
  readonly turnMs: number;
  /** The most indexes that are kept open without being used. */
  readonly maxIdle: number;
  /** Milliseconds after which a reader's hold on a state is revoked. */
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
