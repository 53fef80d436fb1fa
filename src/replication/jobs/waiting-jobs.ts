/** Decides which replication is next, and which give way: users share the slots. */
import type { Job } from './job.ts';

/** Jobs by user, those of each user in the order of arrival. */
export class JobsByUser {
  readonly #byUser = new Map<string, Set<Job>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(job: Job): void {
    const jobs = this.#byUser.get(job.user) ?? new Set();
    this.#byUser.set(job.user, jobs);
    if (!jobs.has(job)) this.#size++;
    jobs.add(job);
  }

  delete(job: Job): void {
    const jobs = this.#byUser.get(job.user);
    if (jobs?.delete(job) !== true) return;
    this.#size--;
    if (jobs.size === 0) this.#byUser.delete(job.user);
  }

  users(): Iterable<string> {
    return this.#byUser.keys();
  }

  countOf(user: string): number {
    return this.#byUser.get(user)?.size ?? 0;
  }

  /** Undefined if the user has none. */
  firstOf(user: string): Job | undefined {
    const [first] = this.#byUser.get(user) ?? [];
    return first;
  }

  *[Symbol.iterator](): Generator<Job> {
    for (const jobs of this.#byUser.values()) yield* jobs;
  }
}

/** The jobs that run, and those that wait for a slot. */
export interface JobSlots {
  readonly running: JobsByUser;
  readonly waiting: JobsByUser;
  /** How many may run. */
  readonly most: number;
}

/** Returns the job that is next: the first one of the user who has the fewest slots. Undefined if none waits. */
export function nextJob({ running, waiting }: JobSlots): Job | undefined {
  let next: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const user of waiting.users()) {
    if (running.countOf(user) >= least) continue;
    next = user;
    least = running.countOf(user);
  }
  return next === undefined ? undefined : waiting.firstOf(next);
}

/** Returns how many slots each user may have who wants that many. */
function shareOf({ running, waiting, most }: JobSlots): number {
  const users = new Set([...running.users(), ...waiting.users()]);
  return Math.max(1, Math.floor(most / Math.max(1, users.size)));
}

/** Returns how many slots have to become free, for users who have less than a share. */
function missingSlots(slots: JobSlots, share: number): number {
  const { running, waiting } = slots;
  let missing = 0;
  for (const user of waiting.users()) {
    missing += Math.max(0, Math.min(waiting.countOf(user), share - running.countOf(user)));
  }
  return missing;
}

/**
 * Returns the running replications that have to give way at once, because their user has more than a share of the slots and another user,
 * who has less, waits. Idle ones come first, then continuous ones; among these, those that began first.
 */
export function toGiveWay(slots: JobSlots): readonly Job[] {
  const share = shareOf(slots);
  const missing = missingSlots(slots, share);
  if (missing === 0) return [];
  const { running } = slots;
  const staying = [...running].filter(({ state }) => state === 'running');
  const areLeaving = running.size - staying.length;
  const left = new Map<string, number>();
  for (const { user } of staying) left.set(user, (left.get(user) ?? 0) + 1);
  const chosen: Job[] = [];
  for (const job of staying.sort(byNeed)) {
    if (chosen.length >= missing - areLeaving) break;
    const count = left.get(job.user) ?? 0;
    if (count <= share) continue;
    left.set(job.user, count - 1);
    chosen.push(job);
  }
  return chosen;
}

/**
 * Returns the running replications that have had their turn and give way to others, those first that lose least. A user who has no more than
 * a share, and none that waits, keeps the slots while there is one for each user.
 */
export function hadTheirTurn(slots: JobSlots, hadTurn: (job: Job) => boolean): readonly Job[] {
  const { running, waiting } = slots;
  const share = shareOf(slots);
  const fewest = Math.min(...[...waiting.users()].map((user) => running.countOf(user)));
  const mayGiveWay = ({ user }: Job) => {
    const count = running.countOf(user);
    return waiting.countOf(user) > 0 || count > share || fewest < count;
  };
  return [...running].filter((job) => hadTurn(job) && mayGiveWay(job)).sort(byNeed);
}

/** Sorts those first that lose least. */
function byNeed(one: Job, other: Job): number {
  const isContinuous = ({ order }: Job) => Number(order.replication.continuous);
  return (
    Number(other.isIdle) - Number(one.isIdle) ||
    isContinuous(other) - isContinuous(one) ||
    (one.startedAt ?? 0) - (other.startedAt ?? 0)
  );
}
