/**
 * Slows down who guesses passwords (docs/http/server.md#settings). After some failures with one name from one address each further try has
 * to wait, for twice as long each time; tries with many names from one address are bounded as well. Names that do not exist are
 * treated as those that do, and nobody else is held up: not another address, nor who is logged in already.
 *
 * An attempt counts as a failure from its beginning, so that many at a time are no way around; who turns out to be right is forgotten.
 */
import type { Clock } from '../../base/shared/clock.ts';
import { networkOf } from '../../base/system/network-of.ts';
import { AddressCounts, remember, tooMany } from './address-counts.ts';

/** Failures with a name from an address that cost no waiting. */
const FREE_TRIES = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** After so much time without a failure a name is as new. */
const FORGOTTEN_AFTER_MS = 15 * 60_000;
/** Failures of one address, with whatever names, that cost no waiting; one more is free for each second that passes. */
const FREE_TRIES_OF_ADDRESS = 50;
/** Names that are remembered; the ones that failed the longest ago go first. */
const MOST_REMEMBERED = 10_000;
/** Characters of a name that are remembered. */
const LONGEST_NAME = 128;

interface Failures {
  count: number;
  /** When the last of them was, by the monotonic clock. */
  at: number;
  /** Before that no further try is taken. */
  blockedUntil: number;
}

/** One try to log in. */
export interface LoginAttempt {
  /** The password was right. */
  succeed(): void;
  /** Neither right nor wrong: it could not be checked. */
  withdraw(): void;
}

export class FailedLogins {
  readonly #clock: Clock;
  readonly #byName = new Map<string, Failures>();
  readonly #ofAddresses: AddressCounts;
  /** Names that have logged in from an address: what is tried with other names there does not hold them up. */
  readonly #proved = new Map<string, true>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#ofAddresses = new AddressCounts(clock, FREE_TRIES_OF_ADDRESS);
  }

  /** Begins a try. Fails with `too_many_requests` where it comes too soon. */
  begin(name: string, address: string): LoginAttempt {
    const now = this.#clock.monotonic();
    const network = networkOf(address);
    const key = `${network} ${name.length} ${name.slice(0, LONGEST_NAME)}`;
    const failures = this.#current(key, now);
    const waitOfName = failures.blockedUntil - now;
    const wait = this.#proved.has(key) ? waitOfName : Math.max(waitOfName, this.#ofAddresses.wait(network));
    if (wait > 0) throw tooMany('Too many log-ins with this name, or from this address, have failed.', wait);
    count(failures, now);
    const takeBack = this.#ofAddresses.add(network);
    remember(this.#byName, key, failures, MOST_REMEMBERED);
    return {
      succeed: () => {
        this.#byName.delete(key);
        remember(this.#proved, key, true, MOST_REMEMBERED);
        takeBack();
      },
      withdraw: () => {
        failures.count -= 1;
        takeBack();
      },
    };
  }

  /** How many names and addresses are remembered. */
  get size(): number {
    return this.#byName.size + this.#ofAddresses.size + this.#proved.size;
  }

  #current(key: string, now: number): Failures {
    const known = this.#byName.get(key);
    if (known !== undefined && now - known.at < FORGOTTEN_AFTER_MS) return known;
    return { count: 0, at: now, blockedUntil: now };
  }
}

function count(failures: Failures, now: number): void {
  failures.count += 1;
  failures.at = now;
  const surplus = failures.count - FREE_TRIES;
  failures.blockedUntil = surplus < 0 ? now : now + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** surplus);
}
