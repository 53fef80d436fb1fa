/** The number of nonces that are remembered for all users together. */
const MOST_NONCES = 100_000;

/** Remembers signed requests, so that each is valid once (RFC 5849, 3.3). If there are too many, it drops the oldest of the user with the most. */
export class UsedNonces {
  /** In the order in which they came. */
  readonly #ofUsers = new Map<string, Set<string>>();
  readonly #most: number;
  #count = 0;

  constructor(most = MOST_NONCES) {
    this.#most = most;
  }

  /** Whether the request is new; remembers it then. `mark`: short, and different for each request. */
  isNew(user: string, mark: string): boolean {
    const own = this.#ofUsers.get(user) ?? new Set();
    if (own.has(mark)) return false;
    own.add(mark);
    this.#ofUsers.set(user, own);
    this.#count += 1;
    if (this.#count > this.#most) this.#makeRoom();
    return true;
  }

  /** Drops half of one user's, so that this is not needed for each request. */
  #makeRoom(): void {
    const [user, most] = [...this.#ofUsers].reduce((one, other) => (other[1].size > one[1].size ? other : one));
    let left = Math.ceil(most.size / 2);
    this.#count -= left;
    for (const mark of most) {
      if (left === 0) break;
      most.delete(mark);
      left -= 1;
    }
    if (most.size === 0) this.#ofUsers.delete(user);
  }
}
