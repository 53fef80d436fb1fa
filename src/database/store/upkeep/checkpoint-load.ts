import type { PageFile } from '../../../storage/page-store.ts';
import type { DatabaseState } from '../state/database-state.ts';
import { liveBytes, unstoredBytes } from '../state/state.ts';

export interface CheckpointBounds {
  /** A checkpoint begins at this much journal text … */
  readonly journalBytes: number;
  /** … or this many journal records … */
  readonly journalRecords: number;
  /** … or this many bytes of tree nodes that are not stored. At one and a half times any of these, writes wait for the checkpoint. */
  readonly dirtyBytes: number;
}

/** The least bytes of journal after which the nodes in memory are measured again … */
const MEASURED_EVERY = 32 * 1024;
/** … and the most bytes of nodes that a byte of journal may add: what is left of their bound lasts for so much journal. */
const NODE_BYTES_PER_JOURNAL_BYTE = 50;
/** How far beyond its bounds unstored data may grow before nothing is added to it. Opening must replay it. */
const OVERDUE = 1.5;
/** The same for deletions on a full medium, where no checkpoint has room: memory must hold what they change. */
const FAR_OVERDUE = 4;
/**
 * The share of its bound on nodes in memory at which the checkpoint of a bloated file, or of one on a full medium, is due. A checkpoint needs
 * room for everything that it replaces, and updates in random order replace most leaves of a tree when there are many updates.
 */
const HASTE = 1 / 6;
/** A file of which less than about six tenths is live counts as bloated: well before it is twice as large as its content. */
const BLOATED = 1.7;
/** Below this size, in bytes, haste is not worth what a file could save. */
const MIN_BLOATED_BYTES = 8 * 2 ** 20;

/** How much waits to be stored, relative to the bounds that make a checkpoint due. */
export class CheckpointLoad {
  readonly #state: DatabaseState;
  readonly #file: PageFile;
  readonly #bounds: CheckpointBounds;
  #measured: { readonly journalBytes: number; readonly bytes: number } | undefined;
  #isBloated = false;

  constructor(state: DatabaseState, file: PageFile, bounds: CheckpointBounds) {
    this.#state = state;
    this.#file = file;
    this.#bounds = bounds;
  }

  /** Whether a bound is reached. */
  get isDue(): boolean {
    return this.#ratio >= 1;
  }

  /** Whether so much waits to be stored that nothing may be added to it. */
  get isOverdue(): boolean {
    return this.#ratio >= OVERDUE;
  }

  /** Whether so much waits to be stored that not even deletions may be added to it. */
  get isFarOverdue(): boolean {
    return this.#ratio >= FAR_OVERDUE;
  }

  /**
   * Whether a file that does not shrink by itself had grown far beyond its live content at the last check.
   * Its free pages are room for new ones, so its size is the largest amount that was ever in use.
   */
  get isBloated(): boolean {
    return this.#isBloated;
  }

  async lookForBloat(): Promise<void> {
    if (this.#file.compact === undefined) return;
    const size = await this.#file.size();
    this.#isBloated = size > MIN_BLOATED_BYTES && size > BLOATED * liveBytes(this.#state.current);
  }

  /**
   * Must be called when a slice of a checkpoint was stored, with the bytes of its pages: fewer nodes are only in memory now. Examining all of them
   * again would take longer than many a slice; the next measurement corrects what is subtracted in excess for nodes that had been
   * replaced meanwhile.
   */
  noteStored(bytes: number): void {
    const measured = this.#measured;
    if (measured !== undefined) this.#measured = { ...measured, bytes: Math.max(0, measured.bytes - bytes) };
  }

  /** Must be called when a checkpoint ended, whether or not it failed. */
  measureAgain(): void {
    this.#measured = undefined;
  }

  /** How near the bounds are: at 1 a checkpoint is due. */
  get #ratio(): number {
    const { journalBytes, journalRecords, dirtyBytes } = this.#bounds;
    return Math.max(
      this.#state.journalBytes / journalBytes,
      this.#state.journalRecords / journalRecords,
      this.#unstoredBytes / (this.#isBloated || this.#file.isScarce ? HASTE * dirtyBytes : dirtyBytes),
    );
  }

  /**
   * Bytes of tree nodes that are only in memory. Measured, not updated with each change, since what a checkpoint stores and what
   * changes meanwhile overlap; but not measured for every small commit.
   */
  get #unstoredBytes(): number {
    const { current, journalBytes } = this.#state;
    const measured = this.#measured;
    if (measured !== undefined) {
      const headroom = (this.#bounds.dirtyBytes - measured.bytes) / NODE_BYTES_PER_JOURNAL_BYTE;
      const grown = Math.abs(journalBytes - measured.journalBytes);
      if (grown < Math.max(MEASURED_EVERY, headroom)) return measured.bytes;
    }
    const bytes = unstoredBytes(current);
    this.#measured = { journalBytes, bytes };
    return bytes;
  }
}
