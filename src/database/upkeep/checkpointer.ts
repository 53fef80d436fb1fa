import type { ReplacedNode } from '../../btree/contract.ts';
import { FreeList } from '../../paging/free-list.ts';
import type { PageAllocator } from '../../paging/page-allocator.ts';
import { SliceSize } from '../../paging/slice-size.ts';
import { gatherSlice, nodeWrites, type PageWrite, type Slice } from '../../paging/slices.ts';
import type { SnapshotRegister } from '../../paging/snapshot-register.ts';
import type { Clock } from '../../shared/clock.ts';
import type { PageNumber } from '../../storage/page-store.ts';
import type { BodyPage } from '../bodies/body-page.ts';
import type { DatabaseSettings } from '../settings.ts';
import { encodeHead, type Head } from '../state/head.ts';
import { type State, unstoredBytes } from '../state/state.ts';
import type { DatabaseCore } from '../writing/writer.ts';
import type { EmptiedPages } from './emptied-pages.ts';
import { isBloated } from './file-bloat.ts';

export type CheckpointSettings = Pick<
  DatabaseSettings,
  'journalBytes' | 'journalRecords' | 'dirtyBytes' | 'sliceBytes'
>;

/** Sequence numbers that one durable head makes room for, at least … */
const CEILING_STEP = 10_000;
/** … and for how many commits like the one that needs it: large ones should not wait for the medium time and again. */
const CEILING_COMMITS = 50;
/** Bytes of journal after which the nodes in memory are measured again, at least … */
const MEASURED_EVERY = 32 * 1024;
/** … and as many bytes of nodes as a byte of journal may make, to tell when they can have reached their bound. */
const NODE_BYTES_PER_JOURNAL_BYTE = 50;
/** How far beyond its bounds what waits to be stored may grow before nothing comes to it. Opening has to replay it. */
const OVERDUE = 1.5;
/**
 * What share of its bound on nodes in memory a bloated file's checkpoint waits for. A checkpoint needs room for all that
 * it replaces, and updates in random order replace most leaves of a tree when there are many of them.
 */
const HASTE = 1 / 6;
/** Pages dropped together with a slice, beside twice as many as it writes … */
const DROPPED_WITH_SLICE = 256;
/** … and in a commit of their own. */
const DROP_SLICE = 1_024;
/** Body pages that a checkpoint may empty even if no new ones came in. */
const MIN_REPACKED_PAGES = 8;

type Roots = Head['roots'];

/** A checkpoint under way. */
interface Running {
  readonly captured: State;
  readonly journalFrom: number;
  readonly journalBytes: number;
  readonly journalRecords: number;
  readonly replaced: ReplacedNode[];
  readonly droppedPages: PageNumber[];
  readonly bodyPages: readonly BodyPage[];
  readonly writes: Generator<PageWrite, Roots>;
  readonly waiting: readonly Waiter[];
  prepared: Slice<Roots> | undefined;
}

/** Someone who wants to know when the state of a moment is on the medium. */
interface Waiter {
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Moves what the journal holds into the trees on the medium: in slices between the group commits, then one commit that flips
 * the head and truncates the journal, then the freed pages go, as soon as no snapshot needs them. Runs in the writer's
 * turns only.
 */
export class Checkpointer {
  readonly #core: DatabaseCore;
  readonly #allocator: PageAllocator;
  readonly #emptied: EmptiedPages;
  readonly #settings: CheckpointSettings;
  readonly #clock: Clock;
  readonly #sliceSize: SliceSize;
  #measured: { readonly journalBytes: number; readonly bytes: number } | undefined;
  #isBloated = false;
  #head: Head;
  #storedVersion: number;
  #running: Running | undefined;
  #wanted = false;
  #waiting: Waiter[] = [];
  /** Who wants to know when nothing can be dropped any more. */
  #awaitingDrop: Waiter[] = [];
  /** Body pages that may still be emptied before the checkpoint that is due; undefined before it was looked at. */
  #repackBudget: number | undefined;
  readonly #freeList: FreeList;

  constructor(
    parts: {
      readonly core: DatabaseCore;
      readonly allocator: PageAllocator;
      readonly emptied: EmptiedPages;
      readonly snapshots: SnapshotRegister;
      readonly head: Head;
      readonly clock: Clock;
    },
    settings: CheckpointSettings,
  ) {
    this.#core = parts.core;
    this.#allocator = parts.allocator;
    this.#emptied = parts.emptied;
    this.#freeList = new FreeList(parts.snapshots);
    this.#head = parts.head;
    this.#storedVersion = parts.core.state.version;
    this.#settings = settings;
    this.#clock = parts.clock;
    this.#sliceSize = new SliceSize(settings.sliceBytes);
  }

  get head(): Head {
    return this.#head;
  }

  /** The version of the state that the head leads to. */
  get storedVersion(): number {
    return this.#storedVersion;
  }

  /**
   * Asks for a checkpoint even if the bounds are not reached. Resolves when everything that is committed now is in the
   * trees on the medium. The writer has to be woken.
   */
  want(): Promise<void> {
    if (!this.isDirty) return Promise.resolve();
    this.#wanted = true;
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  /** Resolves when every freed page is dropped that no snapshot needs. The writer has to be woken. */
  dropped(): Promise<void> {
    if (!this.#freeList.hasDroppable) return Promise.resolve();
    return new Promise((resolve, reject) => this.#awaitingDrop.push({ resolve, reject }));
  }

  /** Tells those who wait that no checkpoint will come. */
  fail(error: unknown): void {
    const waiting = [...this.#waiting.splice(0), ...(this.#running?.waiting ?? []), ...this.#awaitingDrop.splice(0)];
    for (const { reject } of waiting) reject(error);
  }

  /** Whether the state holds anything that the file's trees don't. */
  get isDirty(): boolean {
    return (
      this.#core.journalRecords > 0 ||
      this.#running !== undefined ||
      this.#core.replaced.length > 0 ||
      this.#emptied.areThere
    );
  }

  get hasWork(): boolean {
    return this.#running !== undefined || this.#isDue || this.#freeList.hasDroppable;
  }

  /** Whether so much waits to be stored that nothing may come to it. */
  get isOverdue(): boolean {
    return this.#load >= OVERDUE;
  }

  get #isDue(): boolean {
    return (this.#wanted && this.isDirty) || this.#load >= 1;
  }

  /**
   * Bytes of tree nodes that are in memory alone. Measured, not counted along, since what a checkpoint stores and what
   * changes meanwhile overlap; but not for every small commit.
   */
  get #unstoredBytes(): number {
    const { state, journalBytes } = this.#core;
    const measured = this.#measured;
    if (measured !== undefined) {
      const headroom = (this.#settings.dirtyBytes - measured.bytes) / NODE_BYTES_PER_JOURNAL_BYTE;
      const grown = Math.abs(journalBytes - measured.journalBytes);
      if (grown < Math.max(MEASURED_EVERY, headroom)) return measured.bytes;
    }
    const bytes = unstoredBytes(state);
    this.#measured = { journalBytes, bytes };
    return bytes;
  }

  /** How near the bounds are: 1 = a checkpoint is due. */
  get #load(): number {
    const { journalBytes, journalRecords, dirtyBytes } = this.#settings;
    return Math.max(
      this.#core.journalBytes / journalBytes,
      this.#core.journalRecords / journalRecords,
      this.#unstoredBytes / (this.#isBloated ? HASTE * dirtyBytes : dirtyBytes),
    );
  }

  /**
   * Writes the head durably before a sequence number above its ceiling is given out, so that after a loss (a power cut with relaxed
   * durability) numbering can go on above everything that anyone may have seen.
   */
  async raiseCeiling(updateSeq: number): Promise<void> {
    if (updateSeq <= this.#head.seqCeiling && !this.#head.clean) return;
    const commitSeqs = updateSeq - this.#core.state.updateSeq;
    const seqCeiling = updateSeq + Math.max(CEILING_STEP, CEILING_COMMITS * commitSeqs);
    await this.#writeHead({ ...this.#head, seqCeiling, clean: false }, 'strict');
  }

  async #writeHead(head: Head, durability: 'relaxed' | 'strict', truncateJournal?: number): Promise<void> {
    await this.#core.file.commit({
      durability,
      head: encodeHead(head),
      ...(truncateJournal === undefined ? {} : { truncateJournal }),
    });
    this.#head = head;
  }

  /** One piece of work. While jobs wait it is small, unless the journal outgrows its bounds: then it is all there is. */
  async step(jobsWait: boolean): Promise<void> {
    // What the last checkpoint freed is room for the next one. Only what is overdue doesn't wait for it in a file with room.
    if (this.#running === undefined && this.#freeList.hasDroppable && (this.#isBloated || !this.isOverdue)) {
      await this.#dropGarbage();
      return;
    }
    if (this.#running === undefined && this.#isDue) {
      if (await this.#repackSome()) return;
      this.#isBloated = await isBloated(this.#core.file, this.#core.state);
      this.#begin();
    }
    const running = this.#running;
    if (running === undefined) return;
    try {
      do {
        if (await this.#writeSlice(running, jobsWait)) return;
      } while (jobsWait && this.isOverdue);
    } catch (error) {
      this.#abandon(running);
      throw error;
    }
  }

  /** Makes room before a checkpoint, in proportion to what came in since the last one. Gives whether there is more to do. */
  async #repackSome(): Promise<boolean> {
    this.#repackBudget ??= MIN_REPACKED_PAGES + 2 * this.#core.bodies.unstoredCount + 2 * this.#core.packedPages;
    if (this.#repackBudget <= 0) return false;
    const moved = await this.#emptied.repacker.repackWorst();
    this.#repackBudget -= moved;
    return moved > 0;
  }

  #begin(): void {
    this.#wanted = false;
    this.#repackBudget = undefined;
    const core = this.#core;
    const captured = core.state;
    const bodyPages = core.bodies.seal();
    this.#running = {
      captured,
      journalFrom: core.nextJournal,
      journalBytes: core.journalBytes,
      journalRecords: core.journalRecords,
      replaced: core.replaced,
      droppedPages: this.#emptied.take(),
      bodyPages,
      writes: this.#pageWrites(captured, bodyPages),
      waiting: this.#waiting,
      prepared: undefined,
    };
    this.#waiting = [];
    core.replaced = [];
    core.journalBytes = 0;
    core.journalRecords = 0;
    core.packedPages = 0;
  }

  /** Puts back what a failed checkpoint had taken on, for the next one. */
  #abandon(running: Running): void {
    const core = this.#core;
    core.replaced = [...running.replaced, ...core.replaced];
    core.journalBytes += running.journalBytes;
    core.journalRecords += running.journalRecords;
    this.#emptied.putBack(running.droppedPages);
    this.#waiting = [...running.waiting, ...this.#waiting];
    this.#wanted = true;
    this.#running = undefined;
  }

  /** Body pages, then the trees' nodes; children come before their parents. */
  *#pageWrites(captured: State, bodyPages: readonly BodyPage[]): Generator<PageWrite, Roots> {
    const allocate = () => this.#allocator.allocate();
    for (const page of bodyPages) {
      yield { page: { number: page.number, value: page.encode() }, stored: () => this.#core.bodies.stored([page]) };
    }
    const byId = yield* nodeWrites(captured.byId.unstored(allocate));
    const bySeq = yield* nodeWrites(captured.bySeq.unstored(allocate));
    const locals = yield* nodeWrites(captured.locals.unstored(allocate));
    const space = yield* nodeWrites(captured.space.unstored(allocate));
    return { byId, bySeq, locals, space };
  }

  /** Gives true when the checkpoint ended. */
  async #writeSlice(running: Running, jobsWait: boolean): Promise<boolean> {
    const limit = this.#sliceSize.bytes * (jobsWait ? 1 : 2);
    const slice = running.prepared ?? gatherSlice(running.writes, limit);
    const { pages, bytes, result: roots } = slice;
    const began = this.#clock.monotonic();
    // What earlier checkpoints freed goes along, so that the file does not grow while writes keep coming.
    const written = this.#freeList.commit(this.#core.file, pages, DROPPED_WITH_SLICE + 2 * pages.length);
    // The next slice is made while this one is being written.
    running.prepared = roots === undefined ? gatherSlice(running.writes, limit) : undefined;
    await written;
    this.#sliceSize.noteWritten(bytes, this.#clock.monotonic() - began);
    this.#tellDropped();
    slice.stored();
    this.#measured = undefined;
    if (roots === undefined) return false;
    await this.#flip(running, roots);
    return true;
  }

  async #flip(running: Running, roots: Roots): Promise<void> {
    const { captured } = running;
    const freed = [...running.droppedPages, ...this.#head.garbage];
    for (const { page } of running.replaced) if (page !== undefined) freed.push(page);
    const lists = this.#freeList.toLists(freed, this.#allocator);
    const head: Head = {
      ...this.#head,
      updateSeq: captured.updateSeq,
      purgeSeq: captured.purgeSeq,
      docCount: captured.docCount,
      docDelCount: captured.docDelCount,
      roots,
      journalFrom: running.journalFrom,
      garbage: lists.map((page) => page.number),
      pageMark: this.#allocator.next,
      unstored: this.#core.bodies.unstoredPages.map((page) => this.#allocator.next - page),
    };
    await this.#core.file.commit({
      durability: 'relaxed',
      head: encodeHead(head),
      truncateJournal: running.journalFrom,
      ...(lists.length > 0 ? { writePages: lists } : {}),
    });
    this.#head = head;
    this.#storedVersion = captured.version;
    this.#running = undefined;
    this.#freeList.add(captured.version, freed);
    for (const { resolve } of running.waiting) resolve();
    // Whoever came while this checkpoint ran needs no other one if nothing else did.
    if (!this.isDirty) for (const { resolve } of this.#waiting.splice(0)) resolve();
  }

  async #dropGarbage(): Promise<void> {
    await this.#freeList.commit(this.#core.file, [], DROP_SLICE);
    this.#tellDropped();
  }

  #tellDropped(): void {
    if (!this.#freeList.hasDroppable) for (const { resolve } of this.#awaitingDrop.splice(0)) resolve();
  }

  /** Takes over pages that no state refers to; the last of them go first. */
  dropLater(pages: readonly PageNumber[]): void {
    this.#freeList.add(0, pages);
  }

  /** Pages that are in the file but no longer part of it. */
  garbagePages(): PageNumber[] {
    return [...this.#freeList.pages(), ...this.#head.garbage];
  }

  /** Marks the file as closed in order. Only when nothing is dirty and no job can come any more. */
  async finish(): Promise<void> {
    if (this.#head.clean) return;
    const { nextJournal } = this.#core;
    // What is still to be dropped may be told by its numbers alone.
    const border = this.#freeList.pages().length > 0 ? {} : { pageMark: this.#allocator.next, unstored: [] };
    await this.#writeHead({ ...this.#head, ...border, clean: true, journalFrom: nextJournal }, 'strict', nextJournal);
  }
}
