/**
 * Space that a store reserves while there is room, and gives up if there is none: a full store must still open, delete and make room.
 *
 *     whole ── the medium is full for a deletion, an opening or upkeep ──► given up ── there is room again ──► whole
 *
 * It has two parts. `deletions` is for what users do to make room, and for opening files; `upkeep` is for checkpoints and compactions, which
 * need space before they free any. Deletions and openings may use both, upkeep only its own: upkeep that can't finish must not lock users out.
 * While a part is given up, no other commit may write: otherwise the space would be gone before anything was deleted.
 */
import { type DatabaseError, isDatabaseError } from '../base/errors/database-error.ts';
import { storageFull } from './storage-errors.ts';

export const RESERVE_PARTS = ['deletions', 'upkeep'] as const;
export type ReservePart = (typeof RESERVE_PARTS)[number];

/** Where a host keeps the reserved space. */
export interface ReservedSpace {
  /** Returns the current bytes of each part: 0 for one that was given up, undefined for one that was never whole. */
  measure(): Promise<Readonly<Record<ReservePart, number | undefined>>>;
  /** Grows a part to this many bytes, which is more than it has. If it fails, with `storage_full` for lack of room, the part keeps its size. */
  grow(part: ReservePart, bytes: number): Promise<void>;
  /** Gives up what a part has. Does nothing if it has nothing. */
  release(part: ReservePart): Promise<void>;
  /** Makes the host count again what is in use, if it counts deletions late. Never fails. */
  recount?(): Promise<void>;
}

const MEBIBYTE = 2 ** 20;
const DELETIONS_BYTES = MEBIBYTE;
const MAX_UPKEEP_BYTES = 16 * MEBIBYTE;
/** What a checkpoint or a step of a compaction may need, as a share of what is stored. */
const UPKEEP_SHARE = 1 / 8;
/** How long to wait after a failed attempt to take back the space, unless something was freed meanwhile. */
const PAUSE_MS = 1_000;
/** Number of attempts at a commit or an opening, each after another count of what is in use. */
const RECOUNTS = 3;

interface SpaceReserveOptions {
  /** Bytes in the store's open files. */
  readonly storedBytes: () => Promise<number>;
  /** Whether to reserve space that was not reserved before. */
  readonly grows: boolean;
  /** False if files keep the space that was freed in them: then only `deletions` has to be whole for others to write. */
  readonly shrinks: boolean;
}

export class SpaceReserve {
  readonly #space: ReservedSpace;
  readonly #options: SpaceReserveOptions;
  readonly #given = new Set<ReservePart>();
  readonly #bytes: Record<ReservePart, number> = { deletions: 0, upkeep: 0 };
  /** Set until the existing space was measured. */
  #measuring: Promise<void> | undefined;
  #isMeasured = false;
  /** One change at a time. */
  #changing: Promise<unknown> = Promise.resolve();
  #refusedAt = Number.NEGATIVE_INFINITY;
  /** Whether the failed attempt at that time had a reason other than a lack of room. */
  #admitsUnreserved = false;
  #isGrowing = false;
  #isClosed = false;

  constructor(space: ReservedSpace, options: SpaceReserveOptions) {
    this.#space = space;
    this.#options = options;
  }

  /** Whether a commit that may not use the reserve can go to the file at once. */
  get admitsAll(): boolean {
    return this.#isMeasured && this.#given.size === 0;
  }

  /** Whether a part is given up. */
  get isGivenUp(): boolean {
    return this.#given.size > 0;
  }

  /** Measures what is reserved. Never fails. */
  measure(): Promise<void> {
    this.#measuring ??= this.#measure();
    return this.#measuring;
  }

  /**
   * Takes back what was given up. Fails with `storage_full` if there is no room: then nothing else may be written. If it can't
   * be taken back for another reason, such as a halted process that holds it, no write is refused.
   */
  async admit(file: string): Promise<void> {
    await this.measure();
    if (this.#given.size === 0) return;
    if (this.#isAfterAttempt(file)) return;
    await this.#inOrder(async () => this.#isAfterAttempt(file) || this.#takeBack(file));
  }

  /** Returns whether the last attempt to take back space was recent and failed without refusing writes. Fails if the reason was a lack of room. */
  #isAfterAttempt(file: string): boolean {
    if (performance.now() - this.#refusedAt >= PAUSE_MS) return false;
    if (!this.#admitsUnreserved) throw storageFull(file, undefined);
    return true;
  }

  /** Runs `work`; if there is no room for it, gives up the parts that it may use, one by one, and retries. */
  async run<T>(part: ReservePart, work: () => Promise<T>): Promise<T> {
    const parts = part === 'upkeep' ? [part] : RESERVE_PARTS;
    let failure: unknown;
    try {
      return await work();
    } catch (error) {
      mustBeFull(error);
      failure = error;
    }
    for (const given of parts) {
      if (!(await this.#inOrder(() => this.#giveUp(given)))) continue;
      try {
        return await work();
      } catch (error) {
        mustBeFull(error);
        failure = error;
      }
    }
    return this.#runAfterRecounts(work, failure);
  }

  async #runAfterRecounts<T>(work: () => Promise<T>, first: unknown): Promise<T> {
    let failure = first;
    for (let count = 0; count < RECOUNTS && this.#space.recount !== undefined && !this.#isClosed; count += 1) {
      await this.#space.recount();
      try {
        return await work();
      } catch (error) {
        mustBeFull(error);
        failure = error;
      }
    }
    throw failure;
  }

  /** Notes that something was freed: there may be room again. */
  noteFreed(): void {
    if (!this.isGivenUp) return;
    this.#refusedAt = Number.NEGATIVE_INFINITY;
    void this.#inOrder(async () => this.#isClosed || this.#space.recount?.());
  }

  /** Reserves space, or more of it, for what is stored now. Runs in the background; never fails. */
  growSoon(): void {
    if (!this.#options.grows || this.#isGrowing || this.isGivenUp || this.#isClosed) return;
    this.#isGrowing = true;
    void this.#inOrder(() => this.#grow())
      .catch(() => undefined)
      .finally(() => {
        this.#isGrowing = false;
      });
  }

  /** Starts nothing new, and resolves when everything started has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#measuring;
    await this.#changing;
  }

  async #measure(): Promise<void> {
    const found = await this.#space.measure().catch(() => undefined);
    for (const part of RESERVE_PARTS) {
      this.#bytes[part] = found?.[part] ?? 0;
      if (found?.[part] === 0) this.#given.add(part);
    }
    this.#isMeasured = true;
  }

  async #giveUp(part: ReservePart): Promise<boolean> {
    await this.measure();
    if (this.#given.has(part) || this.#bytes[part] === 0) return false;
    this.#given.add(part);
    this.#bytes[part] = 0;
    await this.#space.release(part).catch(() => undefined);
    return true;
  }

  async #takeBack(file: string): Promise<void> {
    for (const part of [...this.#given].sort()) {
      const isNeeded = part === 'deletions' || this.#options.shrinks;
      try {
        await this.#growTo(part, await this.#aimOf(part));
        this.#given.delete(part);
      } catch (error) {
        if (!isNeeded && this.#given.size === 1) return;
        this.#refusedAt = performance.now();
        this.#admitsUnreserved = !isDatabaseError(error, 'storage_full');
        if (this.#admitsUnreserved) return;
        throw storageFull(file, error);
      }
    }
  }

  async #grow(): Promise<void> {
    await this.measure();
    for (const part of RESERVE_PARTS) {
      if (this.#isClosed || this.isGivenUp) return;
      const aim = await this.#aimOf(part);
      // In steps, so that it seldom happens.
      if (aim >= 2 * this.#bytes[part]) await this.#growTo(part, aim);
    }
  }

  async #growTo(part: ReservePart, bytes: number): Promise<void> {
    if (bytes > this.#bytes[part]) await this.#space.grow(part, bytes);
    this.#bytes[part] = Math.max(bytes, this.#bytes[part]);
  }

  /** Returns whole mebibytes. */
  async #aimOf(part: ReservePart): Promise<number> {
    if (part === 'deletions') return DELETIONS_BYTES;
    const share = Math.ceil(((await this.#options.storedBytes()) * UPKEEP_SHARE) / MEBIBYTE) * MEBIBYTE;
    return Math.min(Math.max(share, MEBIBYTE), MAX_UPKEEP_BYTES);
  }

  #inOrder<T>(change: () => Promise<T>): Promise<T> {
    const changed = this.#changing.then(change);
    this.#changing = changed.catch(() => undefined);
    return changed;
  }
}

function mustBeFull(error: unknown): asserts error is DatabaseError {
  if (!isDatabaseError(error, 'storage_full')) throw error;
}
