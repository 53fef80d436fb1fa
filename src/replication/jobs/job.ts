/**
 * One replication that is to be done: what it is, how far it is, and what happened to it. `replication-jobs.ts` moves it through its states.
 *
 *     pending ── its turn ──► running ── done ──► completed
 *        ▲  ▲                   │ │
 *        │  └── others wait ────┘ └── failed ──► crashing ── tried often enough ──► failed
 *        └────────────────── after a while ────────┘
 */
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { Replication, RunResult, RunStats, Selection } from '../contract.ts';
import type { RefusedLedger } from './refused-ledger.ts';
import type { ReplicationId } from './replication-id.ts';

export type JobState = 'pending' | 'running' | 'crashing' | 'completed' | 'failed';

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
  /** Who may cancel it, beside admins. */
  readonly owner: DatabaseUser;
  /** Tries again after failures, and is kept when it has given up. */
  readonly isKept: boolean;
  /** What was refused by an earlier job of the same order. */
  readonly ledger?: RefusedLedger | undefined;
  readonly listener?: JobListener | undefined;
}

/** What somebody is told who has ordered a replication. None of these may fail. */
export interface JobListener {
  /** An attempt has reached both databases: at the first one, and again after one that failed. */
  healthy?(job: Job): void;
  /** An attempt failed. `retryMs`: when the next one is; undefined where there is none. */
  failed?(job: Job, failure: unknown, retryMs: number | undefined): void;
  completed?(job: Job, result: RunResult): void;
  /** A document was refused, or some that were refused were tried again. */
  ledgerChanged?(job: Job): void;
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

/** Bytes of memory for each id beside its text: in the list, and in what finds out whether it was asked for. */
const BYTES_OF_ID = 100;

/** What a selection takes of the memory for as long as its replication is kept, about. */
export function selectionBytes(selection: Selection | undefined): number {
  if (selection === undefined) return 0;
  const { kind } = selection;
  if (kind === 'ids') return selection.ids.reduce((sum, id) => sum + BYTES_OF_ID + 2 * id.length, 0);
  if (kind === 'selector') return 2 * selection.selector.length;
  return Object.entries(selection.parameters).reduce((sum, [name, text]) => sum + 2 * (name.length + text.length), 0);
}

/** What is kept of a replication. Only `replication-jobs.ts` changes it. */
export class Job {
  readonly order: JobOrder;
  readonly ledger: RefusedLedger;
  /** See `selectionBytes`. */
  readonly selectionBytes: number;
  /** Counts the jobs of this process, for listings. */
  readonly number: number;
  state: JobState = 'pending';
  /** Of the attempt that runs, or ran last; undefined before there were any. */
  figures: RunStats | undefined;
  /** All that was there is copied. */
  isIdle = false;
  /** Attempts in a row that failed. */
  failures = 0;
  lastFailure: string | undefined;
  /** Milliseconds since the epoch: since when nothing has gone well, and when the next attempt is made. */
  failingSince: number | undefined;
  nextAttempt: number | undefined;
  /** Ends the attempt that runs, or the wait for the next one. */
  abort: (() => void) | undefined;
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

  /** It will not run any more. */
  get isOver(): boolean {
    return this.state === 'completed' || this.state === 'failed';
  }

  /** What failed before does not count any more. */
  recover(): void {
    this.failures = 0;
    this.failingSince = undefined;
  }

  note(event: JobEvent): void {
    this.#history.unshift(event);
    this.#history.length = Math.min(this.#history.length, this.#most);
    this.updatedAt = event.at;
  }

  /** The newest first. */
  get history(): readonly JobEvent[] {
    return this.#history;
  }

  /**
   * Resolves with the next result, and rejects when the job is cancelled, or an attempt fails, before there is one. With `lasting` only the
   * last attempt counts: those that are made again are passed over.
   */
  result({ lasting = false } = {}): Promise<RunResult> {
    const result = new Promise<RunResult>((resolve, reject) => this.#waiters.push({ resolve, reject, lasting }));
    // Whoever asked may not be there any more.
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
