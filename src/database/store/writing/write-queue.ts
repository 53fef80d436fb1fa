import { DatabaseError, type ErrorCode, isDatabaseError } from '../../../base/errors/database-error.ts';
import { type CooperativeTask, nextTurn, ready, runCooperatively } from '../../../base/shared/turn.ts';
import type { Commit, Page } from '../../../storage/page-store.ts';
import type { Durability } from '../contract.ts';
import { LINEAGE_KEY } from '../state/locals.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import type { State } from '../state/state.ts';
import { areInDoubt, commitRecord, findRightless, prepareCommit, SHORT_RECORD } from './commit-record.ts';
import type { Job } from './jobs.ts';
import { applyDelayedChanges } from './next-state.ts';
import { PageWrites } from './page-writes.ts';
import { WriteBatch } from './write-batch.ts';

/** Rounds after which the queue lets other tasks run, even on storage that never waits for anything. */
const ROUNDS_PER_TURN = 16;

const NONE: ReadonlyMap<Job, unknown> = new Map();

interface WriteQueueOptions {
  /** A group ends when it holds this much text. */
  readonly groupBytes: number;
  /** Bodies of a group with at least this many bytes go to separate pages. */
  readonly packFrom: number;
  /** Called after each commit that changed anything. */
  onCommit(state: State): void;
  /** Called once, when a commit failed in a way that leaves its outcome unknown. */
  onFailure(error: unknown): void;
}

/** Work that is done between group commits, in the queue's own turns: nothing else changes the state meanwhile. */
export interface BackgroundWork {
  readonly hasWork: boolean;
  /** Whether so much of it has accumulated that no job may be accepted before `catchUp`. */
  readonly isOverdue: boolean;
  /** Whether it is so much that no deletion may be accepted either, if the medium has no room for the work. */
  readonly isFarOverdue: boolean;
  /** Does one piece of it: a small one while jobs wait. */
  step(jobsWait: boolean): Promise<void>;
  /** Works until it is no longer overdue. */
  catchUp(): Promise<void>;
  /** Rejects those who wait for it: it has stopped. */
  fail(error: unknown): void;
}

/**
 * The queue of everything that changes one database. A light job that finds the queue idle is committed in the same turn,
 * if nothing has to be waited for. Jobs that arrive later in that turn, or while a commit runs, are joined into the next
 * commit (group commit). A failed commit changes nothing that anyone can see: the state it would have made is dropped. If the
 * failure leaves open what reached the file, the database is given up, and opening it again finds out.
 */
export class WriteQueue {
  readonly #opened: OpenedFile;
  readonly #background: BackgroundWork;
  readonly #options: WriteQueueOptions;
  readonly #pageWrites = new PageWrites();
  #jobs: Job[] = [];
  #running = false;
  /** Ends the wait for jobs of the rest of the turn. */
  #endTurn: () => void = () => undefined;
  #isOpening = true;
  #givenUp = false;
  #backgroundPaused = false;
  /** Why jobs are no longer accepted. */
  #refusal: DatabaseError | undefined;
  #idleWaiters: (() => void)[] = [];

  constructor(opened: OpenedFile, background: BackgroundWork, options: WriteQueueOptions) {
    this.#opened = opened;
    this.#background = background;
    this.#options = options;
  }

  submit(job: Job): void {
    if (this.#refusal !== undefined) {
      job.fail(this.#refusal);
      return;
    }
    this.#jobs.push(job);
    if (this.#mayBeginAtOnce(job)) this.#beginAtOnce();
    else this.wake();
  }

  /** Whether its commit can probably finish in this turn. */
  #mayBeginAtOnce({ durability, weight }: Job): boolean {
    return (
      !this.#running && durability === 'relaxed' && weight <= SHORT_RECORD && this.#opened.file.append !== undefined
    );
  }

  /** Commits at once. Later jobs of the same turn join the next commit: many commits in a row would keep other tasks from running. */
  #beginAtOnce(): void {
    this.#backgroundPaused = false;
    this.#running = true;
    const committed = runCooperatively(this.#commitGroup(this.#takeGroup()));
    void this.#run(committed ?? this.#endOfTurn());
  }

  #endOfTurn(): Promise<void> {
    return new Promise((resolve) => {
      this.#endTurn = resolve;
      void nextTurn().then(resolve);
    });
  }

  /** Puts pages into the file to which nothing refers yet. They are the caller's until a job adopts them. */
  async writePages(pages: readonly Page[]): Promise<void> {
    if (this.#refusal !== undefined) throw this.#refusal;
    const written = this.#pageWrites.add(pages);
    this.wake();
    await written;
  }

  /**
   * Lets background work begin, with the next event that wakes the queue. Until then a full journal, which a crash leaves,
   * delays nothing: a client that opens a database wants a response, and there is time for a checkpoint later.
   */
  endOpening(): void {
    this.#isOpening = false;
    this.#backgroundPaused = true;
  }

  /** Lets the queue look for work: jobs, or background work that was requested. */
  wake(): void {
    // A caller that wakes the queue while it runs may have come too late to learn why the background work was paused.
    this.#backgroundPaused = false;
    if (this.#running) return;
    this.#running = true;
    // Waiting one turn lets requests that arrived together share the first commit.
    void this.#run(Promise.resolve());
  }

  /** Whether the database was given up: its content is unknown, or no longer needed. */
  get hasFailed(): boolean {
    return this.#givenUp;
  }

  /** Refuses jobs from now on. Resolves when all that were accepted, and the background work, are done. */
  async drain(reason: DatabaseError): Promise<void> {
    this.#refusal ??= reason;
    await this.#whenIdle();
  }

  /** Refuses all jobs, including those that already wait, and begins nothing new. Resolves when what is under way has ended. */
  async abort(reason: DatabaseError): Promise<void> {
    this.#refusal = reason;
    this.#givenUp = true;
    this.#background.fail(reason);
    await this.#whenIdle();
  }

  async #whenIdle(): Promise<void> {
    this.#endTurn();
    if (this.#running) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  async #run(begun: Promise<void>): Promise<void> {
    await begun;
    for (let round = 1; this.#hasWork; round++) {
      if (this.#jobs.length > 0) await runCooperatively(this.#commitGroup(this.#takeGroup()));
      if (this.#pageWrites.hasWork) await this.#writePages();
      await this.#backgroundStep();
      if (round % ROUNDS_PER_TURN === 0) await nextTurn();
    }
    this.#running = false;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  get #hasWork(): boolean {
    return this.#jobs.length > 0 || this.#pageWrites.hasWork || this.#hasBackgroundWork;
  }

  async #writePages(): Promise<void> {
    if (this.#givenUp) {
      this.#pageWrites.fail(this.#refusal);
      return;
    }
    try {
      await this.#pageWrites.step(this.#opened.file);
    } catch (error) {
      this.#giveUpIfUnknown(error);
    }
  }

  get #hasBackgroundWork(): boolean {
    if (this.#isOpening || this.#givenUp || this.#backgroundPaused) return false;
    return this.#background.hasWork;
  }

  async #backgroundStep(): Promise<void> {
    if (!this.#hasBackgroundWork) return;
    try {
      if (this.#hasDelayedChanges) await this.#applyDelayedChanges();
      await this.#background.step(this.#jobs.length > 0);
    } catch (error) {
      // The queue retries a full medium when the next request wakes it.
      this.#backgroundPaused = true;
      this.#background.fail(error);
      this.#giveUpIfUnknown(error);
    }
  }

  #takeGroup(): Job[] {
    let weight = 0;
    let count = 0;
    for (const job of this.#jobs) {
      if (count > 0 && (job.isAlone || weight + job.weight > this.#options.groupBytes)) break;
      weight += job.weight;
      count++;
      if (job.isAlone) break;
    }
    return this.#jobs.splice(0, count);
  }

  /** Commits a group. Never fails. Finishes in one turn if nothing has to be waited for: then it writes only one short record. */
  *#commitGroup(group: readonly Job[]): CooperativeTask<void> {
    try {
      if (this.#mustPrepare) yield* ready(this.#prepare(group));
      if (this.#givenUp) throw this.#refusal;
      const batch = yield* this.#applyGroup(group);
      if (batch === undefined) return yield* this.#commitEach(group);
      const [durability, reserve] = [durabilityOf(group), reserveOf(group)];
      if (!batch.isUnchanged) {
        const rightless = yield* this.#commit(batch, group, { durability, reserve });
        if (rightless.size > 0) return yield* this.#commitWithout(rightless, group);
      } else if (durability === 'strict') yield* ready(this.#opened.file.commit({ durability, reserve }));
      for (const job of group) job.succeed();
    } catch (error) {
      if (isDatabaseError(error, 'storage_full') && isMixed(group)) return yield* this.#commitEach(group);
      for (const job of group) job.fail(error);
    }
  }

  /** Fails the jobs whose right has ended, and commits the group without them. */
  *#commitWithout(rightless: ReadonlyMap<Job, unknown>, group: readonly Job[]): CooperativeTask<void> {
    for (const [job, reason] of rightless) job.fail(reason);
    const rest = group.filter((job) => !rightless.has(job));
    if (rest.length > 0) yield* this.#commitGroup(rest);
  }

  get #hasDelayedChanges(): boolean {
    return this.#opened.state.current.byId.hasDelayedChanges;
  }

  get #mustPrepare(): boolean {
    return !this.#isOpening && (this.#hasDelayedChanges || this.#background.isOverdue);
  }

  /** Does what is required before a group can be accepted. */
  async #prepare(group: readonly Job[]): Promise<void> {
    if (this.#hasDelayedChanges) await this.#applyDelayedChanges();
    if (!this.#background.isOverdue) return;
    await this.#makeRoom().catch((error: unknown) => {
      const isDeletion = reserveOf(group) !== undefined && isDatabaseError(error, 'storage_full');
      if (!isDeletion || this.#background.isFarOverdue) throw error;
    });
  }

  /** Makes the nodes that opening the database left unmade. */
  async #applyDelayedChanges(): Promise<void> {
    const { state } = this.#opened;
    state.publish(await applyDelayedChanges(state.current));
  }

  /** Makes room. Nothing more is accepted while existing data can't be stored: the journal and the memory would grow without end. */
  async #makeRoom(): Promise<void> {
    if (this.#givenUp) return;
    try {
      await this.#background.catchUp();
    } catch (error) {
      this.#giveUpIfUnknown(error);
      throw error;
    }
  }

  /** Commits each job separately. If one can't be applied, or has no room, others still can. */
  *#commitEach(group: readonly Job[]): CooperativeTask<void> {
    for (const job of group) yield* this.#commitGroup([job]);
  }

  /** Applies the group. Undefined if the jobs must be applied one by one to find out which of them fails. */
  *#applyGroup(group: readonly Job[]): CooperativeTask<WriteBatch | undefined> {
    const { state, settings } = this.#opened;
    const { current } = state;
    const batch = new WriteBatch(current, settings.revsLimit, state.bodies.arena);
    const [only] = group.length === 1 ? group : [];
    try {
      const { ids, localKeys, digests } = only ?? namedBy(group);
      yield* batch.load(current, ids, localKeys, undefined, digests);
      for (const job of group) yield* ready(job.apply(batch));
    } catch (error) {
      if (group.length > 1) return undefined;
      throw error;
    }
    return batch;
  }

  /** Commits the group. If the right of some jobs has ended, commits nothing and returns those. */
  *#commit(
    batch: WriteBatch,
    group: readonly Job[],
    { durability, reserve }: Pick<Commit, 'durability' | 'reserve'>,
  ): CooperativeTask<ReadonlyMap<Job, unknown>> {
    const { head, state, detached } = this.#opened;
    const { bodies } = state;
    const mark = bodies.mark();
    try {
      const { unnotedLineage } = state;
      if (unnotedLineage !== undefined) batch.setLocal(LINEAGE_KEY, unnotedLineage);
      const { updateSeq } = batch;
      // After a loss the ceiling is reached: the next number would raise it anyway.
      const raises = unnotedLineage !== undefined || head.mustRaiseCeiling(updateSeq);
      const { record, pages } = yield* prepareCommit(batch, bodies, this.#options.packFrom);
      const rightless = areInDoubt(group) ? yield* ready(findRightless(group)) : NONE;
      if (rightless.size > 0) {
        bodies.rollback(mark);
        return rightless;
      }
      const journal = { number: state.nextJournal, ...record };
      const raised = raises ? head.withRaisedCeiling(updateSeq, updateSeq - state.current.updateSeq) : undefined;
      const commit = { durability, journal, reserve, ...(pages.length > 0 ? { writePages: pages } : {}) };
      const made = yield* commitRecord(this.#opened, batch, commit, raised);
      if (made.status === 'rejected') {
        // The record is in the journal, so the jobs have succeeded; only opening the file again can go on from there.
        this.#giveUp(made.reason);
        return NONE;
      }
      state.noteCommit(record.text.length, pages.length);
      for (const upload of batch.adopted) detached.adopted(upload.pages);
      state.publish(
        made.value,
        batch.attachments.freed().flatMap((freed) => detached.remove(freed)),
      );
      this.#options.onCommit(made.value.state);
      return NONE;
    } catch (error) {
      bodies.rollback(mark);
      this.#giveUpIfUnknown(error);
      throw error;
    }
  }

  /** Gives the database up if the commit's outcome is unknown; a full or blocked medium refuses a commit as a whole. */
  #giveUpIfUnknown(error: unknown): void {
    if (!isDatabaseError(error, 'storage_full') && !isDatabaseError(error, 'storage_blocked')) this.#giveUp(error);
  }

  #giveUp(error: unknown): void {
    if (this.#givenUp) return;
    this.#givenUp = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#refusal ??= new DatabaseError(codeForLaterJobs(error), `The last commit failed: ${reason}. Try again.`, {
      cause: error,
    });
    this.#options.onFailure(error);
  }
}

function namedBy(group: readonly Job[]): Pick<Job, 'ids' | 'localKeys' | 'digests'> {
  return {
    ids: group.flatMap((job) => job.ids),
    localKeys: group.flatMap((job) => job.localKeys),
    digests: group.flatMap((job) => job.digests),
  };
}

/** Returns the code for jobs after a failed commit. They are not begun, so their outcome is known even if that of the commit is not. */
function codeForLaterJobs(error: unknown): ErrorCode {
  if (!isDatabaseError(error)) return 'storage_failed';
  return error.code === 'write_outcome_unknown' ? 'storage_fenced' : error.code;
}

function durabilityOf(group: readonly Job[]): Durability {
  return group.some((job) => job.durability === 'strict') ? 'strict' : 'relaxed';
}

/** Returns the reserve. A commit that only frees space may use what is reserved for that. */
function reserveOf(group: readonly Job[]): Commit['reserve'] {
  return group.every((job) => job.isDeletion) ? 'deletions' : undefined;
}

/** Whether some of the jobs free space, and others use it. */
function isMixed(group: readonly Job[]): boolean {
  return group.some((job) => job.isDeletion) && !group.every((job) => job.isDeletion);
}
