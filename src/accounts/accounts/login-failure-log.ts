/**
 * Logs failed log-ins with name and address (docs/http/server.md#log), never with a password or a token. The first one of an address is logged
 * at once; those that follow within a minute are counted, and summed up at its end: a client that sends very many does not fill the log.
 */
import { type ErrorCode, isDatabaseError } from '../../base/errors/database-error.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import type { Log } from '../../base/system/contract.ts';
import { warn } from '../../base/system/log.ts';
import { networkOf } from '../../base/system/network-of.ts';

export interface LoginFailure {
  readonly way: 'a session' | 'a password' | 'a token' | 'a proxy' | 'OAuth' | 'the cookie of a session';
  /** The name in the request; undefined if it has none, or if it is not known whether anyone claims that name. */
  readonly name: string | undefined;
  /** See `AskingRequest.address`. */
  readonly address: string;
}

interface FromAddress {
  /** Failures after the first. */
  more: number;
  last: LoginFailure;
}

const WINDOW_MS = 60_000;
/** Addresses that are logged one by one within a minute. */
const MAX_ADDRESSES = 100;
/** Characters of a name. */
const MAX_NAME_LENGTH = 128;
const ADDRESS = /^[\w.:%]{1,64}$/;

/** How credentials are refused; those of OAuth as a bad request. Credentials that could not be checked were not refused. */
const REFUSALS: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'too_many_requests', 'bad_request'];

export function isRefused(error: unknown): boolean {
  return isDatabaseError(error) && REFUSALS.includes(error.code);
}

export class LoginFailureLog {
  readonly #log: Log;
  readonly #addresses = new Map<string, FromAddress>();
  /** Failures of all further addresses. */
  #others = 0;
  #stopTimer: (() => void) | undefined;

  constructor(log: Log) {
    this.#log = log;
  }

  note(failure: LoginFailure): void {
    const network = networkOf(failure.address);
    const known = this.#addresses.get(network);
    if (known !== undefined) {
      known.more += 1;
      known.last = failure;
    } else if (this.#addresses.size >= MAX_ADDRESSES) {
      this.#others += 1;
    } else {
      this.#addresses.set(network, { more: 0, last: failure });
      this.#stopTimer ??= startBackgroundTimer(WINDOW_MS, () => this.#sumUp());
      warn(this.#log, `a log-in failed: ${wordsOf(failure)}`);
    }
  }

  /** Logs a summary of what was counted. */
  close(): void {
    this.#stopTimer?.();
    this.#sumUp();
  }

  #sumUp(): void {
    this.#stopTimer = undefined;
    for (const { more, last } of this.#addresses.values()) {
      if (more > 0)
        warn(this.#log, `log-ins that failed in the minute after that: ${more}, the last one ${wordsOf(last)}`);
    }
    if (this.#others > 0)
      warn(this.#log, `log-ins that failed from other addresses within that minute: ${this.#others}`);
    this.#addresses.clear();
    this.#others = 0;
  }
}

/** Quotes the name, so that it can't look like the rest of the entry. */
function wordsOf({ way, name, address }: LoginFailure): string {
  const who = name === undefined ? '' : `${quoted(name)} `;
  // A proxy may pass on whatever its client sends.
  const known = ADDRESS.test(address) ? address : quoted(address);
  return `${who}from ${address === '' ? 'an unknown address' : known}, by ${way}`;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, MAX_NAME_LENGTH));
}
