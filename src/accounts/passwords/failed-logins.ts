/**
 * Slows down clients that guess passwords (docs/http/server.md#settings). After some failures with one name from one address each further attempt
 * has to wait, twice as long each time; attempts with many names from one address are bounded as well. Names that do not exist are
 * treated like those that do, and no one else is delayed: neither other addresses, nor users who are already logged in.
 *
 * An attempt counts as a failure from its start, so that concurrent attempts don't avoid the limit; a success removes it.
 */
import type { Clock } from '../../base/shared/clock.ts';
import { networkOf } from '../../base/system/network-of.ts';
import { AddressCounts, remember, tooMany } from './address-counts.ts';

/** Failures with a name from an address before waiting starts. */
const FREE_TRIES = 5;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 60_000;
/** After this time without a failure the failures of a name are forgotten. */
const FORGOTTEN_AFTER_MS = 15 * 60_000;
/** Failures of one address, with any names, before waiting starts; one more is free each second. */
const FREE_TRIES_OF_ADDRESS = 50;
/** Names that are remembered; those that failed least recently are dropped first. */
const MAX_REMEMBERED = 10_000;
/** Characters of a name that are remembered. */
const MAX_NAME_LENGTH = 128;

interface Failures {
  count: number;
  /** When the last failure was, by the monotonic clock. */
  at: number;
  /** No further attempt is accepted before this time. */
  blockedUntil: number;
}

/** One attempt to log in. */
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
  /** Names that have logged in from an address: attempts with other names there do not delay them. */
  readonly #proved = new Map<string, true>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#ofAddresses = new AddressCounts(clock, FREE_TRIES_OF_ADDRESS);
  }

  /** Begins an attempt. Fails with `too_many_requests` if it comes too soon. */
  begin(name: string, address: string): LoginAttempt {
    const now = this.#clock.monotonic();
    const network = networkOf(address);
    const key = `${network} ${name.length} ${name.slice(0, MAX_NAME_LENGTH)}`;
    const failures = this.#current(key, now);
    const waitOfName = failures.blockedUntil - now;
    const wait = this.#proved.has(key) ? waitOfName : Math.max(waitOfName, this.#ofAddresses.wait(network));
    if (wait > 0) throw tooMany('Too many log-ins with this name, or from this address, have failed.', wait);
    count(failures, now);
    const takeBack = this.#ofAddresses.add(network);
    remember(this.#byName, key, failures, MAX_REMEMBERED);
    return {
      succeed: () => {
        this.#byName.delete(key);
        remember(this.#proved, key, true, MAX_REMEMBERED);
        takeBack();
      },
      withdraw: () => {
        failures.count -= 1;
        takeBack();
      },
    };
  }

  /** The number of remembered names and addresses. */
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
  failures.blockedUntil = surplus < 0 ? now : now + Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** surplus);
}
