/**
 * Ends replications whose users have lost their rights, or whose tokens have expired: an idle one sends no request that would show it
 * (docs/http/replication.md#rights-of-replications).
 */
import { type Clock, startBackgroundTimer } from '../../base/shared/clock.ts';
import { orElse } from '../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Standings } from '../contract.ts';
import type { ReplicationJobs } from './replication-jobs.ts';
import { assertRights } from './rights.ts';

type Jobs = Pick<ReplicationJobs, 'list' | 'beginAgain'>;

export class RightsWatch {
  readonly #jobs: Jobs;
  readonly #clock: Clock;
  #isLooking = false;
  #isLookDue = false;
  /** Milliseconds since the epoch: when the next rights end. */
  #dueAt = Number.POSITIVE_INFINITY;
  #stopTimer: (() => void) | undefined;

  constructor(jobs: Jobs, { clock, standings }: { readonly clock: Clock; readonly standings?: Standings | undefined }) {
    this.#jobs = jobs;
    this.#clock = clock;
    standings?.onChange(() => void this.#look());
  }

  /** To be called with the end of the rights of each replication that begins. */
  expect(rightsUntil: number | undefined): void {
    if (rightsUntil === undefined || rightsUntil >= this.#dueAt) return;
    this.#dueAt = rightsUntil;
    this.#wait();
  }

  close(): void {
    this.#stopTimer?.();
  }

  /** Timers may be early, and have a longest time. */
  #wait(): void {
    this.#stopTimer?.();
    const waitMs = Math.max(0, Math.ceil(this.#dueAt - this.#clock.now()));
    this.#stopTimer = startBackgroundTimer(waitMs, () =>
      this.#dueAt > this.#clock.now() ? this.#wait() : this.#end(),
    );
  }

  #end(): void {
    const now = this.#clock.now();
    this.#dueAt = Number.POSITIVE_INFINITY;
    for (const { order } of this.#jobs.list()) {
      const { rightsUntil } = order.replication;
      if (rightsUntil !== undefined && rightsUntil > now) this.expect(rightsUntil);
    }
    void this.#look();
  }

  /** Those without rights fail as soon as they begin again. One check at a time, in turns with other work. */
  async #look(): Promise<void> {
    this.#isLookDue = true;
    if (this.#isLooking) return;
    this.#isLooking = true;
    const timeSlice = new TimeSlice();
    while (this.#isLookDue) {
      this.#isLookDue = false;
      for (const job of this.#jobs.list()) {
        if (timeSlice.isDue) await timeSlice.rest();
        if (job.state !== 'running' && !job.waits) continue;
        await orElse(
          () => assertRights(job.order.replication),
          () => this.#jobs.beginAgain(job),
        );
      }
    }
    this.#isLooking = false;
  }
}
