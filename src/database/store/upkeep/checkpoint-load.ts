import type { PageFile } from '../../../storage/page-store.ts';
import type { DatabaseState } from '../state/database-state.ts';
import { liveBytes, unstoredBytes } from '../state/state.ts';

export interface CheckpointBounds {
  /** A checkpoint begins at this much journal text … */
  readonly journalBytes: number;
  /** … or this many journal records … */
  readonly journalRecords: number;
  /** … or this many bytes of tree nodes that are not stored. At one and a half times any of these, writes wait for it. */
  readonly dirtyBytes: number;
}

/** Bytes of journal after which the nodes in memory are measured again, at least … */
const MEASURED_EVERY = 32 * 1024;
/** … and as many bytes of nodes as a byte of journal may make: what is left of their bound lasts for so much journal. */
const NODE_BYTES_PER_JOURNAL_BYTE = 50;
/** How far beyond its bounds what waits to be stored may grow before nothing comes to it. Opening has to replay it. */
const OVERDUE = 1.5;
/** And how far on a full medium, where no checkpoint has room, before deletions don't come to it either: memory has to hold what they change. */
const FAR_OVERDUE = 4;
/**
 * What share of its bound on nodes in memory the checkpoint of a bloated file, or of one on a full medium, waits for. A checkpoint needs room
 * for all that it replaces, and updates in random order replace most leaves of a tree when there are many of them.
 */
const HASTE = 1 / 6;
/** A file of which less than about six tenths is live counts as bloated: well before it is twice as large as what it holds. */
const BLOATED = 1.7;
/** Below this size, in bytes, what a file could save is not worth any haste. */
const LEAST_BLOATED_BYTES = 8 * 2 ** 20;

/** How much waits to be stored, by the bounds that make a checkpoint due. */
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

  /** Whether so much waits to be stored that nothing may come to it. */
  get isOverdue(): boolean {
    return this.#ratio >= OVERDUE;
  }

  /** Whether so much waits to be stored that not even deletions may come to it. */
  get isFarOverdue(): boolean {
    return this.#ratio >= FAR_OVERDUE;
  }

  /**
   * Whether a file that gives no space back by itself had grown far beyond what is live in it, when that was last looked
   * at. Its free pages are room for new ones, so that its size is what was in use at the worst moment.
   */
  get isBloated(): boolean {
    return this.#isBloated;
  }

  async lookForBloat(): Promise<void> {
    if (this.#file.compact === undefined) return;
    const size = await this.#file.size();
    this.#isBloated = size > LEAST_BLOATED_BYTES && size > BLOATED * liveBytes(this.#state.current);
  }

  /**
   * To be called when a slice of a checkpoint was stored, with the bytes of its pages: fewer nodes are in memory alone now. Looking at all
   * of them again would take longer than many a slice; what is taken off too much, because it had been replaced meanwhile, comes back with the
   * next measuring.
   */
  noteStored(bytes: number): void {
    const measured = this.#measured;
    if (measured !== undefined) this.#measured = { ...measured, bytes: Math.max(0, measured.bytes - bytes) };
  }

  /** To be called when a checkpoint ended, however it did. */
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
   * Bytes of tree nodes that are in memory alone. Measured, not counted along, since what a checkpoint stores and what
   * changes meanwhile overlap; but not for every small commit.
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
