/**
 * How many documents of users who are no admins have their replications under way at a time: so many of each user, and of all, as settings permit.
 * The others wait, those of one user in the order in which they came, until another one is done, is given up or goes.
 */
import type { DatabaseUser } from '../../database/contract.ts';
import type { ReplicatorSettings } from '../jobs/replicator-settings.ts';
import { isAdmin, userKey } from '../user-key.ts';

/** Its `begin` asks for a place anew, in the same turn. */
interface Placed {
  begin(): void;
}

export class DocumentPlaces {
  readonly #settings: () => Pick<ReplicatorSettings, 'maxJobsPerUser' | 'maxJobsOfUsers'>;
  /** With the keys of their users. */
  readonly #taken = new Map<Placed, string>();
  readonly #counts = new Map<string, number>();
  /** By user. Whose document had a turn last comes last. */
  readonly #waiting = new Map<string, Set<Placed>>();

  constructor(settings: () => Pick<ReplicatorSettings, 'maxJobsPerUser' | 'maxJobsOfUsers'>) {
    this.#settings = settings;
  }

  /** Gives the document a place, where it has none. Where there is none it waits: gives the reason. Admins' documents need none. */
  take(document: Placed, user: DatabaseUser): string | undefined {
    if (isAdmin(user) || this.#taken.has(document)) return undefined;
    const key = userKey(user);
    const why = this.#whyNot(key, user.name);
    if (why === undefined) {
      this.#taken.set(document, key);
      this.#counts.set(key, this.#count(key) + 1);
      return undefined;
    }
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(document));
    return why;
  }

  /** The document needs its place no more, or waits no more. Begins with the next one. */
  leave(document: Placed): void {
    const key = this.#taken.get(document);
    if (key === undefined) {
      for (const [user, waiting] of this.#waiting) if (waiting.delete(document)) this.#dropEmpty(user, waiting);
      return;
    }
    this.#taken.delete(document);
    const left = this.#count(key) - 1;
    if (left === 0) this.#counts.delete(key);
    else this.#counts.set(key, left);
    this.#beginNext();
  }

  /** All are gone. */
  clear(): void {
    this.#taken.clear();
    this.#counts.clear();
    this.#waiting.clear();
  }

  /** Of the user who has had no turn for the longest time. */
  #beginNext(): void {
    for (const [key, waiting] of this.#waiting) {
      const [next] = waiting;
      if (next === undefined || this.#whyNot(key, null) !== undefined) continue;
      waiting.delete(next);
      this.#waiting.delete(key);
      if (waiting.size > 0) this.#waiting.set(key, waiting);
      next.begin();
      return;
    }
  }

  #whyNot(key: string, name: string | null): string | undefined {
    const { maxJobsPerUser, maxJobsOfUsers } = this.#settings();
    const own = this.#count(key);
    if (own >= maxJobsPerUser) {
      const who = name === null ? 'Clients without a name have' : `The user ${name} has`;
      return `${who} ${own} documents with replications under way, as many as replicator/max_jobs_per_user permits. This one is begun when another one is done, or deleted.`;
    }
    if (this.#taken.size < maxJobsOfUsers) return undefined;
    return `Users have ${this.#taken.size} documents with replications under way, as many as replicator/max_jobs_of_users permits. This one is begun when others are done.`;
  }

  #count(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  #dropEmpty(key: string, waiting: ReadonlySet<Placed>): void {
    if (waiting.size === 0) this.#waiting.delete(key);
  }
}
