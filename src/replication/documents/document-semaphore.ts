/**
 * Limits the running replications of documents whose users are not admins: for each user, and for all of them, as the settings permit.
 * The others wait, those of one user in the order of arrival, until another one completes, is given up or is removed. If all permits are taken,
 * a document of the user with the most gives way to one of a user with fewer: many accounts of one person leave others their share.
 */
import type { DatabaseUser } from '../../database/store/contract.ts';
import type { ReplicatorSettings } from '../jobs/replicator-settings.ts';
import { isAdmin, userKey } from '../user-key.ts';

/** Its `begin` asks for a permit again, synchronously. */
interface PermitHolder {
  begin(): void;
  /** Its permit was given to another document: it ends its replication and asks for a permit again later. */
  giveWay(): void;
}

export class DocumentSemaphore {
  readonly #settings: () => Pick<ReplicatorSettings, 'maxJobsPerUser' | 'maxJobsOfUsers'>;
  /** With the keys of their users. */
  readonly #taken = new Map<PermitHolder, string>();
  /** The same by user, the newest last. */
  readonly #byUser = new Map<string, Set<PermitHolder>>();
  /** By user: the user whose document had a turn last comes last. */
  readonly #waiting = new Map<string, Set<PermitHolder>>();

  constructor(settings: () => Pick<ReplicatorSettings, 'maxJobsPerUser' | 'maxJobsOfUsers'>) {
    this.#settings = settings;
  }

  /** Gives the document a permit, if it has none. If no permit is free it waits: returns the reason. Admins' documents need none. */
  tryAcquire(document: PermitHolder, user: DatabaseUser): string | undefined {
    if (isAdmin(user) || this.#taken.has(document)) return undefined;
    const key = userKey(user);
    const why = this.#whyNotMore(key, user.name);
    if (why === undefined) {
      const other = this.#areAllTaken ? this.#newestOfMost(this.#count(key) + 1) : undefined;
      if (!this.#areAllTaken || other !== undefined) {
        if (other !== undefined) this.#free(other);
        this.#grant(document, key);
        other?.giveWay();
        return undefined;
      }
    }
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(document));
    return why ?? this.#whyFull;
  }

  /** Frees the document's permit, or ends its wait. Begins the next one. */
  release(document: PermitHolder): void {
    if (!this.#taken.has(document)) {
      for (const [user, waiting] of this.#waiting) if (waiting.delete(document)) this.#dropEmpty(user, waiting);
      return;
    }
    this.#free(document);
    this.#beginNext();
  }

  /** Removes all documents. */
  clear(): void {
    this.#taken.clear();
    this.#byUser.clear();
    this.#waiting.clear();
  }

  /** Begins a document of the user who has had no turn for the longest time. */
  #beginNext(): void {
    if (this.#areAllTaken) return;
    for (const [key, waiting] of this.#waiting) {
      const [next] = waiting;
      if (next === undefined || this.#whyNotMore(key, null) !== undefined) continue;
      waiting.delete(next);
      this.#waiting.delete(key);
      if (waiting.size > 0) this.#waiting.set(key, waiting);
      next.begin();
      return;
    }
  }

  #grant(document: PermitHolder, key: string): void {
    this.#taken.set(document, key);
    this.#byUser.set(key, (this.#byUser.get(key) ?? new Set()).add(document));
  }

  #free(document: PermitHolder): void {
    const key = this.#taken.get(document);
    if (key === undefined) return;
    this.#taken.delete(document);
    const left = this.#byUser.get(key);
    left?.delete(document);
    if (left?.size === 0) this.#byUser.delete(key);
  }

  /** Returns the newest document of the user who has the most; undefined if no one has more than `least`. */
  #newestOfMost(least: number): PermitHolder | undefined {
    let most: ReadonlySet<PermitHolder> | undefined;
    for (const held of this.#byUser.values()) if (held.size > (most?.size ?? least)) most = held;
    return most === undefined ? undefined : [...most].at(-1);
  }

  #whyNotMore(key: string, name: string | null): string | undefined {
    const { maxJobsPerUser } = this.#settings();
    const own = this.#count(key);
    if (own < maxJobsPerUser) return undefined;
    const who = name === null ? 'Clients without a name have' : `The user ${name} has`;
    return `${who} ${own} documents with replications under way, as many as replicator/max_jobs_per_user permits. This one starts when another one is done or deleted.`;
  }

  get #areAllTaken(): boolean {
    return this.#taken.size >= this.#settings().maxJobsOfUsers;
  }

  get #whyFull(): string {
    return `Users have ${this.#taken.size} documents with replications under way, as many as replicator/max_jobs_of_users permits. This one starts when others are done.`;
  }

  #count(key: string): number {
    return this.#byUser.get(key)?.size ?? 0;
  }

  #dropEmpty(key: string, waiting: ReadonlySet<PermitHolder>): void {
    if (waiting.size === 0) this.#waiting.delete(key);
  }
}
