/**
 * One replication to run: its order, its progress, and its history. `replication-jobs.ts` moves it through its states.
 *
 *     pending ── its turn ──► running ── done ──► completed
 *        ▲  ▲                   │ │ └── a host can't be reached ──► paused; credentials are awaited ──► unauthorized
 *        │  └── others wait ────┘ └── failed ──► crashing ── tried often enough ──► failed
 *        └────────────────── after a while ────────┘
 *
 * From `paused` and `unauthorized` it also goes back to `pending` after a while, and as soon as the host responds to another replication, or
 * credentials may be there.
 */

import type { ReplicationTask } from '../../base/system/active-tasks.ts';
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { Replication, RunResult, RunStats, Selection } from '../contract.ts';
import type { PauseState } from '../failure.ts';
import { userKey } from '../user-key.ts';
import { PauseEnd } from './pause-end.ts';
import type { RefusedLedger } from './refused-documents.ts';
import type { ReplicationId } from './replication-id.ts';

export type JobState = 'pending' | 'running' | PauseState | 'crashing' | 'completed' | 'failed';

/** The document that asks for a replication. */
export interface JobOrigin {
  readonly database: string;
  readonly docId: string;
}

export interface JobOrder {
  readonly id: ReplicationId;
  readonly replication: Replication;
  /** Undefined for a request by `POST /_replicate`. */
  readonly origin?: JobOrigin | undefined;
  /** The user who may cancel it, besides admins. */
  readonly owner: DatabaseUser;
  /** It is retried after failures, and is kept when it has given up. */
  readonly isKept: boolean;
  /** What an earlier job of the same order refused. */
  readonly ledger?: RefusedLedger | undefined;
  readonly listener?: JobListener | undefined;
}

/** Notifies the client that ordered a replication. None of these may fail. */
export interface JobListener {
  /** An attempt has reached both databases: for the first time, and again after a failed one. */
  healthy?(job: Job): void;
  /** An attempt failed. `retryMs`: the wait until the next one; undefined if there is none. */
  failed?(job: Job, failure: unknown, retryMs: number | undefined): void;
  completed?(job: Job, result: RunResult): void;
  /** A document was refused, or refused documents were retried. */
  ledgerChanged?(job: Job): void;
  /** Resolves when a crash would leave the refused documents as they are known now, or as far as that is possible. */
  keepLedger?(job: Job): Promise<void>;
}

export interface JobEvent {
  readonly type: 'added' | 'started' | 'stopped' | 'crashed';
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly reason?: string | undefined;
}

interface Waiter {
  resolve(result: RunResult): void;
  reject(failure: unknown): void;
  readonly lasting: boolean;
}

/** Bytes of memory for each id besides its text: in the list, and in the index that looks ids up. */
const BYTES_OF_ID = 100;

/** Returns the approximate memory that a selection takes for as long as its replication is kept. */
export function selectionBytes(selection: Selection | undefined): number {
  if (selection === undefined) return 0;
  const { kind } = selection;
  if (kind === 'ids') return selection.ids.reduce((sum, id) => sum + BYTES_OF_ID + 2 * id.length, 0);
  if (kind === 'selector') return 2 * selection.selector.length;
  return Object.entries(selection.parameters).reduce((sum, [name, text]) => sum + 2 * (name.length + text.length), 0);
}

/** The state of a replication. Only `replication-jobs.ts` changes it. */
export class Job {
  order: JobOrder;
  /** See `userKey`. */
  readonly user: string;
  readonly ledger: RefusedLedger;
  /** See `selectionBytes`. */
  readonly selectionBytes: number;
  /** Counts the jobs of this process, for listings. */
  readonly number: number;
  state: JobState = 'pending';
  /** Figures of the attempt that runs, or ran last; undefined before the first. */
  figures: RunStats | undefined;
  /** Everything is copied. */
  isIdle = false;
  /** Consecutive failed attempts that count. */
  failures = 0;
  /** Consecutive attempts that ended for a reason that doesn't count, and what the last of them waits for. */
  pauses = 0;
  pauseState: PauseState = 'paused';
  readonly pauseEnd = new PauseEnd();
  /** The attempt that runs has reached both databases. */
  hasReached = false;
  lastFailure: string | undefined;
  /** Milliseconds since the epoch: the first failure since the last success, and when the next attempt is made. */
  failingSince: number | undefined;
  nextAttempt: number | undefined;
  /** Ends the attempt that runs, or the wait for the next one. */
  abort: (() => void) | undefined;
  /** How it is shown in the list of tasks; undefined before the first attempt. */
  task: ReplicationTask | undefined;
  /** Settles, never rejecting, when the attempt that runs is over. */
  attempt: Promise<void> | undefined;
  /** Milliseconds since the epoch: when it was added, and when the last attempt began. */
  readonly addedAt: number;
  startedAt: number | undefined;
  updatedAt: number;
  readonly #most: number;
  readonly #history: JobEvent[] = [];
  readonly #waiters: Waiter[] = [];

  constructor(order: JobOrder, ledger: RefusedLedger, number: number, now: number, mostEvents: number) {
    this.order = order;
    this.user = userKey(order.owner);
    this.selectionBytes = selectionBytes(order.replication.selection);
    this.ledger = ledger;
    this.number = number;
    this.#most = mostEvents;
    this.addedAt = now;
    this.updatedAt = now;
    this.note({ type: 'added', at: now });
  }

  get id(): string {
    return this.order.id.full;
  }

  /** It waits after an attempt. */
  get waits(): boolean {
    return this.state === 'paused' || this.state === 'unauthorized' || this.state === 'crashing';
  }

  /** It will not run any more. */
  get isOver(): boolean {
    return this.state === 'completed' || this.state === 'failed';
  }

  /** Earlier failures do not count any more. */
  recover(): void {
    this.failures = 0;
    this.pauses = 0;
    this.failingSince = undefined;
  }

  /** The attempt has reached both databases. */
  reach(): void {
    this.hasReached = true;
    this.pauses = 0;
    this.pauseEnd.reset();
    if (this.failures === 0) this.failingSince = undefined;
  }

  note(event: JobEvent): void {
    this.#history.unshift(event);
    this.#history.length = Math.min(this.#history.length, this.#most);
    this.updatedAt = event.at;
  }

  /** Newest first. */
  get history(): readonly JobEvent[] {
    return this.#history;
  }

  /**
   * Resolves with the next result, and rejects if the job is cancelled, or an attempt fails, before there is one. With `lasting` only the
   * last attempt counts: failures that are retried are ignored.
   */
  result({ lasting = false } = {}): Promise<RunResult> {
    const result = new Promise<RunResult>((resolve, reject) => this.#waiters.push({ resolve, reject, lasting }));
    // The caller may be gone.
    result.catch(() => undefined);
    return result;
  }

  settle(result: RunResult): void {
    for (const { resolve } of this.#waiters.splice(0)) resolve(result);
  }

  /** `isLast`: no other attempt follows. */
  reject(failure: unknown, isLast: boolean): void {
    for (const waiter of this.#waiters.splice(0)) {
      if (waiter.lasting && !isLast) this.#waiters.push(waiter);
      else waiter.reject(failure);
    }
  }
}
