import type { Clock } from '../../../base/shared/clock.ts';
import { pageNumbers } from '../../../storage/btree/contract.ts';
import type { FreeList } from '../../../storage/paging/free-list.ts';
import { gatherSlice, nodeWrites, type PageWrite, type Slice, SliceSize } from '../../../storage/paging/slices.ts';
import type { Capture } from '../state/database-state.ts';
import type { Head } from '../state/head.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import { decodeMarks, encodeMarks, withMark } from '../state/time-marks.ts';
import { type CheckpointBounds, CheckpointLoad } from './checkpoint-load.ts';
import type { Repacker } from './repacker.ts';

export interface CheckpointSettings extends CheckpointBounds {
  /** Bytes of pages that one slice of a checkpoint writes while requests wait. */
  readonly sliceBytes: number;
}

/** Pages that are dropped with a slice, in addition to twice as many as it writes … */
const DROPPED_WITH_SLICE = 256;
/** … and in a separate commit. */
const DROP_SLICE = 1_024;
/** Body pages that a checkpoint may empty even if no new ones were added. */
const MIN_REPACKED_PAGES = 8;

type Roots = Head['roots'];

/** A checkpoint under way. */
interface Running {
  readonly capture: Capture;
  readonly writes: Generator<PageWrite, Roots>;
  readonly waiting: readonly Waiter[];
  /** The next slice, if it was made while the previous one was being written. */
  prepared: Slice<Roots> | undefined;
}

/** A caller that waits until the state of a moment is on the medium. */
interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

interface CheckpointerOptions {
  readonly opened: OpenedFile;
  readonly freeList: FreeList;
  readonly repacker: Repacker;
  readonly clock: Clock;
}

/**
 * Moves the content of the journal into the trees on the medium: in slices between the group commits, then in one commit that
 * flips the head and truncates the journal. After that the pages that it freed are dropped, as soon as no snapshot needs
 * them. Runs in the turns of the write queue only; a caller that requests anything must wake the queue.
 */
export class Checkpointer {
  readonly #opened: OpenedFile;
  readonly #freeList: FreeList;
  readonly #repacker: Repacker;
  readonly #clock: Clock;
  readonly #load: CheckpointLoad;
  readonly #sliceSize: SliceSize;
  /** States that were opened from a head have version 0. */
  #storedVersion = 0;
  #running: Running | undefined;
  #isRequested = false;
  #waiting: Waiter[] = [];
  /** Callers that wait until there is nothing left to drop. */
  #awaitingDrop: Waiter[] = [];
  /** Whether the next checkpoint clears the table of times before it adds its own mark. */
  #forgetsTimes = false;
  /** Body pages that may still be emptied before the checkpoint that is due; undefined before the first of them. */
  #repackBudget: number | undefined;

  constructor({ opened, freeList, repacker, clock }: CheckpointerOptions, settings: CheckpointSettings) {
    this.#opened = opened;
    this.#freeList = freeList;
    this.#repacker = repacker;
    this.#clock = clock;
    this.#load = new CheckpointLoad(opened.state, opened.file, settings);
    this.#sliceSize = new SliceSize(settings.sliceBytes);
  }

  /** The version of the state that the head leads to. */
  get storedVersion(): number {
    return this.#storedVersion;
  }

  /**
   * Requests a checkpoint even if no bound is reached. Resolves when everything that is committed now is in the trees on
   * the medium.
   */
  request(): Promise<void> {
    if (!this.isDirty) return Promise.resolve();
    this.#isRequested = true;
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Forgets when changes were made. Resolves when a checkpoint has stored that, with a mark of its own moment. */
  forgetTimes(): Promise<void> {
    this.#forgetsTimes = true;
    this.#opened.state.touch();
    return this.request();
  }

  /** Resolves when every free page is dropped that no snapshot needs. */
  whenDropped(): Promise<void> {
    if (!this.#freeList.hasDroppable) return Promise.resolve();
    return new Promise((resolve, reject) => this.#awaitingDrop.push({ resolve, reject }));
  }

  /** Rejects the waiting callers: no checkpoint will come. */
  fail(error: unknown): void {
    const waiting = [...this.#waiting.splice(0), ...(this.#running?.waiting ?? []), ...this.#awaitingDrop.splice(0)];
    for (const { reject } of waiting) reject(error);
  }

  /** Whether the state holds anything that the file's trees do not. */
  get isDirty(): boolean {
    return this.#running !== undefined || this.#opened.state.isDirty;
  }

  get hasWork(): boolean {
    return this.#running !== undefined || this.#isDue || this.#freeList.hasDroppable;
  }

  get isOverdue(): boolean {
    return this.#load.isOverdue;
  }

  get isFarOverdue(): boolean {
    return this.#load.isFarOverdue;
  }

  get #isDue(): boolean {
    return (this.#isRequested && this.isDirty) || this.#load.isDue;
  }

  /** Does one piece of work. While jobs wait it is small, unless the journal outgrows its bounds: then it does the whole checkpoint. */
  async step(jobsWait: boolean): Promise<void> {
    // Pages that the last checkpoint freed are dropped first, since they are room for the next one; but in a file that is
    // not bloated, an overdue checkpoint does not wait for that.
    if (this.#running === undefined && this.#freeList.hasDroppable && (this.#load.isBloated || !this.isOverdue)) {
      await this.#dropPages();
      return;
    }
    if (this.#running === undefined && this.#isDue) {
      if (await this.#repackSome()) return;
      await this.#load.lookForBloat();
      this.#begin();
    }
    const running = this.#running;
    if (running === undefined) return;
    try {
      do {
        if (await this.#writeSlice(running, jobsWait)) return;
      } while (jobsWait && this.isOverdue);
    } catch (error) {
      this.#takeBack(running);
      throw error;
    }
  }

  /** Makes room before a checkpoint, in proportion to what was added since the last one. Returns whether there is more to do. */
  async #repackSome(): Promise<boolean> {
    this.#repackBudget ??= MIN_REPACKED_PAGES + 2 * this.#opened.state.newBodyPages;
    if (this.#repackBudget <= 0) return false;
    const moved = await this.#repacker.repackWorst();
    this.#repackBudget -= moved;
    return moved > 0;
  }

  #begin(): void {
    this.#isRequested = false;
    this.#repackBudget = undefined;
    const capture = this.#opened.state.capture();
    this.#running = { capture, writes: this.#pageWrites(capture), waiting: this.#waiting, prepared: undefined };
    this.#waiting = [];
  }

  /** Leaves to the next checkpoint what a failed one had taken over. */
  #takeBack(running: Running): void {
    this.#opened.state.putBack(running.capture);
    this.#load.measureAgain();
    this.#waiting = [...running.waiting, ...this.#waiting];
    this.#isRequested = true;
    this.#running = undefined;
  }

  /** Yields body pages, then the trees' nodes; children come before their parents. */
  *#pageWrites({ state, bodyPages }: Capture): Generator<PageWrite, Roots> {
    const { allocator, head } = this.#opened;
    const { maxPageBytes } = head.current;
    const { bodies } = this.#opened.state;
    for (const page of bodyPages) {
      yield { page: { number: page.number, value: page.encode() }, stored: () => bodies.stored([page]) };
    }
    const byId = yield* nodeWrites(state.byId, allocator, maxPageBytes);
    const bySeq = yield* nodeWrites(state.bySeq, allocator, maxPageBytes);
    const locals = yield* nodeWrites(state.locals, allocator, maxPageBytes);
    const space = yield* nodeWrites(state.space, allocator, maxPageBytes);
    const attachments = yield* nodeWrites(state.attachments, allocator, maxPageBytes);
    return { byId, bySeq, locals, space, attachments };
  }

  /** Writes a slice. Returns true when the checkpoint ended. */
  async #writeSlice(running: Running, jobsWait: boolean): Promise<boolean> {
    const limit = this.#sliceSize.bytes * (jobsWait ? 1 : 2);
    const slice = running.prepared ?? gatherSlice(running.writes, limit);
    const { pages, bytes, result: roots } = slice;
    const began = this.#clock.monotonic();
    // What earlier checkpoints freed is dropped in the same commit, so that the file does not grow while writes keep coming.
    const written = this.#freeList.commit(this.#opened.file, pages, DROPPED_WITH_SLICE + 2 * pages.length, 'upkeep');
    // The next slice is made while this one is being written.
    running.prepared = roots === undefined ? gatherSlice(running.writes, limit) : undefined;
    await written;
    this.#sliceSize.noteWritten(bytes, this.#clock.monotonic() - began);
    this.#resolveDropped();
    slice.stored();
    this.#load.noteStored(bytes);
    if (roots === undefined) return false;
    await this.#flip(running, roots);
    this.#load.measureAgain();
    return true;
  }

  async #flip({ capture, waiting }: Running, roots: Roots): Promise<void> {
    const { state: captured, journalFrom } = capture;
    const { head, allocator, state } = this.#opened;
    const forgetsTimes = this.#forgetsTimes;
    const freed = [...capture.emptied, ...head.current.garbage];
    for (const node of capture.replaced) for (const page of pageNumbers(node)) freed.push(page);
    // Detached pages stay, unless the process ends: then the next owner finds them in these lists.
    const listed = [...freed, ...this.#opened.detached.all()];
    const lists = this.#freeList.toLists(listed, allocator, head.current.maxPageBytes);
    const next: Head = {
      ...head.current,
      updateSeq: captured.updateSeq,
      purgeSeq: captured.purgeSeq,
      docCount: captured.docCount,
      docDelCount: captured.docDelCount,
      roots,
      journalFrom,
      garbage: lists.map((page) => page.number),
      pageMark: allocator.next,
      times: this.#timesWith(captured.updateSeq),
      unstored: state.bodies.unstoredPages.map((page) => allocator.next - page),
    };
    const writePages = lists.length > 0 ? { writePages: lists } : {};
    await head.write(next, { durability: 'relaxed', truncateJournal: journalFrom, reserve: 'upkeep', ...writePages });
    if (forgetsTimes) this.#forgetsTimes = false;
    this.#storedVersion = captured.version;
    this.#running = undefined;
    this.#freeList.add(captured.version, freed, this.#opened.file);
    state.bodies.arena.release();
    for (const { resolve } of waiting) resolve();
    // Callers that requested one while this checkpoint ran need no other one if nothing was committed meanwhile.
    if (!this.isDirty) for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  /** Returns the head's table of times with this moment: the changes up to `seq` were made before it. */
  #timesWith(seq: number): string {
    const seconds = Math.ceil(this.#clock.now() / 1_000);
    const known = this.#forgetsTimes ? [] : decodeMarks(this.#opened.head.current.times);
    return encodeMarks(withMark(known, { seconds, seq }));
  }

  async #dropPages(): Promise<void> {
    await this.#freeList.commit(this.#opened.file, [], DROP_SLICE, 'upkeep');
    this.#resolveDropped();
  }

  #resolveDropped(): void {
    if (!this.#freeList.hasDroppable) for (const { resolve } of this.#awaitingDrop.splice(0)) resolve();
  }

  /** Marks the file as closed in order. Only if nothing is dirty and no job can come any longer. */
  markClean(): Promise<void> {
    const { head, allocator, state, detached } = this.#opened;
    if (head.current.clean) return Promise.resolve();
    const { nextJournal } = state;
    // The next opening finds free pages that no list names yet, since they are above the mark, which therefore must stay.
    const border =
      this.#freeList.pages().length > 0 || !detached.isEmpty ? {} : { pageMark: allocator.next, unstored: [] };
    const closed: Head = { ...head.current, ...border, clean: true, journalFrom: nextJournal };
    return head.write(closed, { durability: 'strict', truncateJournal: nextJournal, reserve: 'upkeep' });
  }
}
