/** Decides which replication is next, and which give way: users share the places. */
import { userKey } from '../user-key.ts';
import type { Job } from './job.ts';

/** Jobs that wait for their turn. For each user the first that arrived is next. */
export class WaitingJobs {
  readonly #byUser = new Map<string, Set<Job>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(job: Job): void {
    const user = userOf(job);
    const jobs = this.#byUser.get(user) ?? new Set();
    this.#byUser.set(user, jobs);
    if (!jobs.has(job)) this.#size++;
    jobs.add(job);
  }

  delete(job: Job): void {
    const user = userOf(job);
    const jobs = this.#byUser.get(user);
    if (jobs?.delete(job) !== true) return;
    this.#size--;
    if (jobs.size === 0) this.#byUser.delete(user);
  }

  /** Removes and returns the next one, of the user who has the fewest places. Undefined if none waits. */
  take(places: Places): Job | undefined {
    let next: Job | undefined;
    let least = Number.POSITIVE_INFINITY;
    for (const [user, [first]] of this.#byUser) {
      if (first === undefined || places.of(user) >= least) continue;
      next = first;
      least = places.of(user);
    }
    if (next !== undefined) this.delete(next);
    return next;
  }

  /** Yields the number of waiting jobs by user. */
  *counts(): Generator<readonly [user: string, count: number]> {
    for (const [user, { size }] of this.#byUser) yield [user, size];
  }

  countOf(user: string): number {
    return this.#byUser.get(user)?.size ?? 0;
  }
}

/** How many places each user has. */
export class Places {
  readonly #byUser = new Map<string, number>();

  constructor(running: Iterable<Job>) {
    for (const job of running) this.count(job, 1);
  }

  count(job: Job, change: 1 | -1): void {
    const user = userOf(job);
    this.#byUser.set(user, this.of(user) + change);
  }

  of(user: string): number {
    return this.#byUser.get(user) ?? 0;
  }

  /** Returns how many of `most` places each user may have that wants so many. */
  share(most: number, waiting: WaitingJobs): number {
    const users = new Set(this.#byUser.keys());
    for (const [user] of waiting.counts()) users.add(user);
    return Math.max(1, Math.floor(most / Math.max(1, users.size)));
  }
}

/**
 * Returns the running replications that have to give way at once, because their user has more than a share of the places and another user,
 * who has less, waits. Idle ones come first, then continuous ones; among these, those that began first.
 */
export function toGiveWay(running: Iterable<Job>, waiting: WaitingJobs, most: number): readonly Job[] {
  const all = [...running];
  const places = new Places(all);
  const share = places.share(most, waiting);
  let wanted = 0;
  for (const [user, count] of waiting.counts()) wanted += Math.max(0, Math.min(count, share - places.of(user)));
  if (wanted === 0) return [];
  const staying = all.filter(({ state }) => state === 'running');
  wanted -= all.length - staying.length;
  const left = new Places(staying);
  const chosen: Job[] = [];
  for (const job of staying.sort(byNeed)) {
    if (chosen.length >= wanted) break;
    if (left.of(userOf(job)) <= share) continue;
    left.count(job, -1);
    chosen.push(job);
  }
  return chosen;
}

/**
 * Whether a replication that has had its turn gives way to others: not if its user has no more than a share, and none that waits, while
 * there is a place for each user.
 */
export function mayGiveWay(job: Job, places: Places, waiting: WaitingJobs, most: number): boolean {
  const user = userOf(job);
  if (waiting.countOf(user) > 0 || places.of(user) > places.share(most, waiting)) return true;
  for (const [other] of waiting.counts()) if (places.of(other) < places.of(user)) return true;
  return false;
}

/** Sorts those first that lose least. */
export function byNeed(one: Job, other: Job): number {
  const isContinuous = ({ order }: Job) => Number(order.replication.continuous);
  return (
    Number(other.isIdle) - Number(one.isIdle) ||
    isContinuous(other) - isContinuous(one) ||
    (one.startedAt ?? 0) - (other.startedAt ?? 0)
  );
}

function userOf({ order }: Job): string {
  return userKey(order.owner);
}
