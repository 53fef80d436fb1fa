import type { ReplacedNode } from '../../btree/contract.ts';
import { DatabaseError, type ErrorCode, isDatabaseError } from '../../errors/database-error.ts';
import type { PageAllocator } from '../../paging/page-allocator.ts';
import { inTurns, nextTurn, Pace, type Steps } from '../../shared/turn.ts';
import type { Page, PageFile } from '../../storage/page-store.ts';
import type { BodyStore } from '../bodies/body-store.ts';
import type { Durability } from '../contract.ts';
import { LINEAGE_KEY } from '../state/lineage.ts';
import type { State } from '../state/state.ts';
import type { Checkpointer } from '../upkeep/checkpointer.ts';
import type { Job } from './jobs.ts';
import { encodeJournalEntry } from './journal.ts';
import { applyDelayedChanges, type NextState, nextState } from './next-state.ts';
import { WriteBatch } from './write-batch.ts';

/** What the parts of one open database share. The writer is the only one that replaces `state`. */
export interface DatabaseCore {
  readonly file: PageFile;
  readonly bodies: BodyStore;
  readonly allocator: PageAllocator;
  state: State;
  revsLimit: number;
  /** Tree nodes that left the current state since the last checkpoint began. */
  replaced: ReplacedNode[];
  nextJournal: number;
  journalBytes: number;
  journalRecords: number;
  /** Body pages that came with commits since the last checkpoint began. */
  packedPages: number;
  /** A lineage that there was no room for in the journal when the file was opened: the next record has it. */
  unnotedLineage?: string | undefined;
}

/** Rounds after which the writer lets others have a turn, also on storage that never waits for anything. */
const ROUNDS_PER_TURN = 16;

/** Pages whose hand-over to the file is work that others should not have to wait for beside what was before. */
const MANY_PAGES = 64;

export interface WriterOptions {
  /** A group ends when it holds this much text. */
  readonly groupBytes: number;
  /** Bodies go to pages of their own from this many bytes in a group on. */
  readonly packFrom: number;
  /** Called after each commit that changed anything. */
  onCommit(state: State): void;
  /** Called once, when a commit failed in a way that leaves its outcome unknown. */
  onFailure(error: unknown): void;
}

/** Work that the writer does between groups, in its own turns. */
export interface BackgroundWork {
  readonly hasWork: boolean;
  step(jobsWait: boolean): Promise<void>;
  /** Tells those who wait for it that it has stopped. */
  fail(error: unknown): void;
}

/**
 * The one writer of a database. Jobs that arrive while a commit runs are joined into the next one (group commit).
 * A failed commit changes nothing that anyone can see: the state it would have made is dropped. Where the failure
 * leaves open what reached the file, the database is given up, and opening it again finds out.
 */
export class Writer {
  readonly #core: DatabaseCore;
  readonly #checkpointer: Checkpointer;
  readonly #background: BackgroundWork[];
  readonly #options: WriterOptions;
  #queue: Job[] = [];
  #running = false;
  #isOpening = true;
  #givenUp = false;
  #backgroundPaused = false;
  #ended: DatabaseError | undefined;
  #idle: (() => void)[] = [];

  constructor(core: DatabaseCore, checkpointer: Checkpointer, options: WriterOptions) {
    this.#core = core;
    this.#checkpointer = checkpointer;
    this.#background = [checkpointer];
    this.#options = options;
  }

  /** Comes before what was there. */
  addBackground(work: BackgroundWork): void {
    this.#background.unshift(work);
  }

  submit(job: Job): void {
    if (this.#ended !== undefined) {
      job.fail(this.#ended);
      return;
    }
    this.#queue.push(job);
    this.wake();
  }

  /**
   * Lets work between groups begin, with the next thing that wakes the writer. Until then a full journal, which a crash
   * leaves behind, holds up nothing: whoever opens a database wants an answer, and there is time for a checkpoint later.
   */
  endOpening(): void {
    this.#isOpening = false;
  }

  /** Lets the writer look for work: jobs, or a checkpoint that was asked for. */
  wake(): void {
    // Whoever wakes the writer while it runs may have come too late to be told why the background work has stopped.
    this.#backgroundPaused = false;
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  get hasFailed(): boolean {
    return this.#givenUp;
  }

  /** Refuses jobs from now on, and resolves when the last one that was accepted is done. */
  async end(reason: DatabaseError): Promise<void> {
    this.#ended ??= reason;
    await this.whenIdle();
  }

  /** Refuses all jobs, those that wait already as well, and begins nothing any more. */
  async abandon(reason: DatabaseError): Promise<void> {
    this.#ended = reason;
    this.#givenUp = true;
    this.#checkpointer.fail(reason);
    await this.whenIdle();
  }

  /** Resolves when there is nothing left to do. */
  async whenIdle(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async #run(): Promise<void> {
    // One turn's wait lets requests that arrived together share the first commit.
    await undefined;
    for (let round = 1; this.#queue.length > 0 || this.#hasBackgroundWork; round++) {
      if (this.#queue.length > 0) await this.#commitGroup(this.#takeGroup());
      await this.#backgroundStep();
      if (round % ROUNDS_PER_TURN === 0) await nextTurn();
    }
    this.#running = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  get #hasBackgroundWork(): boolean {
    if (this.#isOpening || this.#givenUp || this.#backgroundPaused) return false;
    return this.#background.some((work) => work.hasWork);
  }

  async #backgroundStep(): Promise<void> {
    if (!this.#hasBackgroundWork) return;
    try {
      if (this.#core.state.byId.hasDelayedChanges) await this.#applyDelayedChanges();
      for (const work of this.#background) if (work.hasWork) await work.step(this.#queue.length > 0);
    } catch (error) {
      // A full medium is tried again when the next request wakes the writer.
      this.#backgroundPaused = true;
      for (const work of this.#background) work.fail(error);
      this.#giveUpIfUnknown(error);
    }
  }

  #takeGroup(): Job[] {
    let weight = 0;
    let count = 0;
    for (const job of this.#queue) {
      if (count > 0 && (job.isAlone || weight + job.weight > this.#options.groupBytes)) break;
      weight += job.weight;
      count++;
      if (job.isAlone) break;
    }
    return this.#queue.splice(0, count);
  }

  async #commitGroup(group: readonly Job[]): Promise<void> {
    try {
      if (this.#mustPrepare) await this.#prepare();
      if (this.#givenUp) throw this.#ended;
      const batch = await this.#applyGroup(group);
      if (batch === undefined) return await this.#commitEach(group);
      if (!batch.isUnchanged) await this.#commit(batch, durabilityOf(group));
      else if (durabilityOf(group) === 'strict') await this.#core.file.commit({ durability: 'strict' });
      for (const job of group) job.succeed();
    } catch (error) {
      for (const job of group) job.fail(error);
    }
  }

  get #mustPrepare(): boolean {
    return !this.#isOpening && (this.#core.state.byId.hasDelayedChanges || this.#checkpointer.isOverdue);
  }

  /** What has to be done before a group can be taken in. */
  async #prepare(): Promise<void> {
    if (this.#core.state.byId.hasDelayedChanges) await this.#applyDelayedChanges();
    if (this.#checkpointer.isOverdue) await this.#makeRoom();
  }

  /** Makes the nodes that opening the database left unmade. */
  async #applyDelayedChanges(): Promise<void> {
    const core = this.#core;
    const { state, replaced } = await applyDelayedChanges(core.state);
    core.state = state;
    for (const node of replaced) core.replaced.push(node);
  }

  /** Nothing more is taken in while what is there can't be stored: the journal and the memory would grow without end. */
  async #makeRoom(): Promise<void> {
    if (this.#givenUp) return;
    try {
      while (this.#checkpointer.isOverdue) await this.#checkpointer.step(true);
    } catch (error) {
      this.#checkpointer.fail(error);
      this.#giveUpIfUnknown(error);
      throw error;
    }
  }

  /** Where one job can't be applied the others have no part in it. */
  async #commitEach(group: readonly Job[]): Promise<void> {
    for (const job of group) await this.#commitGroup([job]);
  }

  /** Undefined where the jobs have to be applied one by one to find out which of them fails. */
  async #applyGroup(group: readonly Job[]): Promise<WriteBatch | undefined> {
    const { state, revsLimit } = this.#core;
    const batch = new WriteBatch(state, revsLimit, this.#core.bodies.arena);
    try {
      const ids = group.flatMap((job) => job.ids);
      const localKeys = group.flatMap((job) => job.localKeys);
      await batch.load(state, ids, localKeys);
      for (const job of group) {
        const applied = job.apply(batch);
        if (applied instanceof Promise) await applied;
      }
    } catch (error) {
      if (group.length > 1) return undefined;
      throw error;
    }
    return batch;
  }

  async #commit(batch: WriteBatch, durability: Durability): Promise<void> {
    const core = this.#core;
    const mark = core.bodies.mark();
    try {
      if (core.unnotedLineage !== undefined) batch.setLocal(LINEAGE_KEY, core.unnotedLineage);
      await this.#checkpointer.raiseCeiling(batch.updateSeq);
      const prepared = inTurns(prepareCommit(batch, core.bodies, this.#options.packFrom));
      const { text, pages } = prepared instanceof Promise ? await prepared : prepared;
      const journal = { number: core.nextJournal, text };
      const pace = new Pace();
      const commit = core.file.commit({ durability, journal, ...(pages.length > 0 ? { writePages: pages } : {}) });
      // The trees are made while the commit is under way; a failure of either drops both.
      const making = pace.isDue ? pace.rest().then(() => nextState(core.state, batch)) : nextState(core.state, batch);
      const [made, written] = await Promise.allSettled([making, commit]);
      if (written.status === 'rejected') throw written.reason;
      if (made.status === 'rejected') {
        // The record is in the journal, so the jobs have succeeded; only opening the file again can go on from there.
        this.#giveUp(made.reason);
        return;
      }
      core.unnotedLineage = undefined;
      core.nextJournal++;
      core.journalBytes += text.length;
      core.journalRecords++;
      core.packedPages += pages.length;
      this.#publish(made.value);
    } catch (error) {
      core.bodies.rollback(mark);
      this.#giveUpIfUnknown(error);
      throw error;
    }
  }

  #publish(next: NextState): void {
    const core = this.#core;
    core.state = next.state;
    for (const node of next.replaced) core.replaced.push(node);
    this.#options.onCommit(next.state);
  }

  /** A full or held up medium refuses a commit as a whole; after anything else nobody knows what reached the file. */
  #giveUpIfUnknown(error: unknown): void {
    if (!isDatabaseError(error, 'storage_full') && !isDatabaseError(error, 'storage_blocked')) this.#giveUp(error);
  }

  #giveUp(error: unknown): void {
    if (this.#givenUp) return;
    this.#givenUp = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#ended ??= new DatabaseError(codeForLaterJobs(error), `The last commit failed: ${reason}. Try again.`, {
      cause: error,
    });
    this.#options.onFailure(error);
  }
}

/** The text of the group's journal record, and the pages that go with it. */
function* prepareCommit(
  batch: WriteBatch,
  bodies: BodyStore,
  packFrom: number,
): Steps<{ readonly text: string; readonly pages: readonly Page[] }> {
  const { entry, pages } = yield* batch.place(bodies, packFrom);
  const text = yield* encodeJournalEntry(entry);
  if (pages.length > MANY_PAGES) yield;
  return { text, pages };
}

/** Jobs that come behind a commit that failed are not begun. Of them everybody knows the outcome, also where nobody knows that of the commit. */
function codeForLaterJobs(error: unknown): ErrorCode {
  if (!isDatabaseError(error)) return 'storage_failed';
  return error.code === 'write_outcome_unknown' ? 'storage_fenced' : error.code;
}

function durabilityOf(group: readonly Job[]): Durability {
  return group.some((job) => job.durability === 'strict') ? 'strict' : 'relaxed';
}
