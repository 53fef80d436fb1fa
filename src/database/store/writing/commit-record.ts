/**
 * The commit of a group of jobs: their clients must still have the right to the changes (nearly always nothing has changed, and no
 * check is needed), and its record goes into the file.
 */

import { isDatabaseError } from '../../../base/errors/database-error.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, ready, runCooperatively } from '../../../base/shared/turn.ts';
import type { Commit, JournalRecord, Page } from '../../../storage/page-store.ts';
import type { BodyStore } from '../bodies/body-store.ts';
import type { Head } from '../state/head.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import type { NextState } from '../state/tree-updates.ts';
import type { Job } from './jobs.ts';
import { encodeJournalEntry } from './journal.ts';
import { nextState } from './next-state.ts';
import type { WriteBatch } from './write-batch.ts';

/** Maximum characters of a record that is appended in the turn in which it was made. */
export const SHORT_RECORD = 16_384;

/** Passing more pages than this to the file is work that others should not have to wait for in addition to what was before. */
const MANY_PAGES = 64;

interface RecordCommit extends Commit {
  readonly journal: JournalRecord;
}

/** Returns the text of the group's journal record, and the pages that belong to it. */
export function* prepareCommit(
  batch: WriteBatch,
  bodies: BodyStore,
  packFrom: number,
): CooperativeTask<{ readonly record: Pick<JournalRecord, 'text' | 'pieces'>; readonly pages: readonly Page[] }> {
  const { entry, pages } = yield* batch.place(bodies, packFrom);
  const record = yield* encodeJournalEntry(entry);
  if (pages.length > MANY_PAGES) yield;
  return { record, pages };
}

/**
 * Puts a group's record into the file, and makes the resulting state: in this turn if the record is short and all nodes of the
 * trees are in memory, else concurrently. Rejected if the record is in the file but the state could not be made; fails if the
 * record is not known to be in the file. `raised`: a head that goes with it, which makes the commit durable.
 */
export function* commitRecord(
  { file, state, head }: Pick<OpenedFile, 'file' | 'state' | 'head'>,
  batch: WriteBatch,
  commit: RecordCommit,
  raised: Head | undefined,
): CooperativeTask<PromiseSettledResult<NextState>> {
  const make = (): MaybePromise<NextState> => runCooperatively(nextState(state.current, batch));
  const early = file.append !== undefined && raised === undefined && isShortRecord(commit) ? make() : undefined;
  if (early !== undefined && !(early instanceof Promise)) {
    try {
      if (yield* ready(file.append?.(commit.journal))) return { status: 'fulfilled', value: early };
    } catch (error) {
      // A commit may use the reserved space.
      if (commit.reserve === undefined || !isDatabaseError(error, 'storage_full')) throw error;
    }
  }
  const committing = outcomeOf(() => {
    return raised === undefined ? file.commit(commit) : head.write(raised, { ...commit, durability: 'strict' });
  });
  // Passing many pages to the file may have taken long.
  if (early === undefined) yield;
  const making = outcomeOf(() => early ?? make());
  const [made, committed] = yield* ready(Promise.all([making, committing]));
  if (committed.status === 'rejected') throw committed.reason;
  return made;
}

/** Whether the commit is only a record, and may be appended. */
function isShortRecord({ durability, journal, writePages }: RecordCommit): boolean {
  return writePages === undefined && durability === 'relaxed' && journal.text.length <= SHORT_RECORD;
}

/** Returns the outcome of the work. Never fails. */
async function outcomeOf<T>(work: () => MaybePromise<T>): Promise<PromiseSettledResult<T>> {
  try {
    return { status: 'fulfilled', value: await work() };
  } catch (reason) {
    return { status: 'rejected', reason };
  }
}

/** Whether the right of any job may have ended. */
export function areInDoubt(jobs: readonly Job[]): boolean {
  return jobs.some(isInDoubt);
}

/** Returns the jobs whose right is lost, with the reasons. When it resolves no other job's right may have ended. */
export async function findRightless(jobs: readonly Job[]): Promise<ReadonlyMap<Job, unknown>> {
  const rightless = new Map<Job, unknown>();
  while (jobs.some((job) => isInDoubt(job) && !rightless.has(job))) {
    for (const job of jobs) {
      if (!isInDoubt(job) || rightless.has(job)) continue;
      try {
        await job.right?.assert();
      } catch (reason) {
        rightless.set(job, reason);
      }
    }
  }
  return rightless;
}

function isInDoubt({ right }: Job): boolean {
  return right?.isSurelyKept === false;
}
