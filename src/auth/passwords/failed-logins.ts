/**
 * Slows down who guesses passwords (docs/http.md#settings). After some failures with one name from one address each further try has
 * to wait, for twice as long each time; tries with many names from one address are bounded as well. Names that do not exist are
 * treated as those that do, and nobody else is held up: not another address, nor who is logged in already.
 *
 * An attempt counts as a failure from its beginning, so that many at a time are no way around; who turns out to be right is forgotten.
 */
import { RetryLaterError } from '../../errors/retry-later.ts';
import type { Clock } from '../../shared/clock.ts';

/** Failures with a name from an address that cost no waiting. */
const FREE_TRIES = 5;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
/** After so much time without a failure a name is as new. */
const FORGOTTEN_AFTER_MS = 15 * 60_000;
/** Failures of one address, with whatever names, that cost no waiting; one more is free for each second that passes. */
const FREE_TRIES_OF_ADDRESS = 50;
const MS_PER_TRY_OF_ADDRESS = 1_000;
/** Names and addresses that are remembered; the ones that failed the longest ago go first. */
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

interface AddressFailures {
  count: number;
  at: number;
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
  readonly #byAddress = new Map<string, AddressFailures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a try. Fails with `too_many_requests` where it comes too soon. */
  begin(name: string, address: string): LoginAttempt {
    const now = this.#clock.monotonic();
    const network = networkOf(address);
    const key = `${network} ${name.length} ${name.slice(0, LONGEST_NAME)}`;
    const failures = this.#current(key, now);
    const ofAddress = this.#currentOfAddress(network, now);
    const wait = Math.max(failures.blockedUntil - now, waitOfAddress(ofAddress));
    if (wait > 0) throw tooMany(wait);
    count(failures, now);
    ofAddress.count += 1;
    remember(this.#byName, key, failures);
    remember(this.#byAddress, network, ofAddress);
    return {
      succeed: () => {
        this.#byName.delete(key);
        ofAddress.count -= 1;
      },
      withdraw: () => {
        failures.count -= 1;
        ofAddress.count -= 1;
      },
    };
  }

  /** How many names and addresses are remembered. */
  get size(): number {
    return this.#byName.size + this.#byAddress.size;
  }

  #current(key: string, now: number): Failures {
    const known = this.#byName.get(key);
    if (known !== undefined && now - known.at < FORGOTTEN_AFTER_MS) return known;
    return { count: 0, at: now, blockedUntil: now };
  }

  #currentOfAddress(network: string, now: number): AddressFailures {
    const known = this.#byAddress.get(network) ?? { count: 0, at: now };
    known.count = Math.max(0, known.count - (now - known.at) / MS_PER_TRY_OF_ADDRESS);
    known.at = now;
    return known;
  }
}

function count(failures: Failures, now: number): void {
  failures.count += 1;
  failures.at = now;
  const surplus = failures.count - FREE_TRIES;
  failures.blockedUntil = surplus < 0 ? now : now + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** surplus);
}

function waitOfAddress({ count: tries }: AddressFailures): number {
  return Math.ceil((tries + 1 - FREE_TRIES_OF_ADDRESS) * MS_PER_TRY_OF_ADDRESS);
}

/** Who has an IPv6 address has 2^64 of them. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? [];
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const missing = tail === undefined ? 0 : Math.max(0, 8 - front.length - back.length);
  return [...front, ...Array.from({ length: missing }, () => '0'), ...back].slice(0, 4).join(':');
}

/** As the last of them. */
function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= MOST_REMEMBERED) return;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

function tooMany(waitMs: number): RetryLaterError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const reason = `Too many log-ins with this name, or from this address, have failed. Try again in ${seconds} s.`;
  return new RetryLaterError('too_many_requests', reason, seconds);
}
