/**
 * Name and password. A peer computes the hash of a password for each request that brings one, which is made slow on purpose. So after a few
 * requests a session is begun, whose cookie is sent instead. Peers that have none get the password on.
 *
 * A peer takes whoever comes with the cookie of a session that has ended for nobody in particular. Where nobody may write, it says 401. Where
 * a validation function judges, it refuses the documents, one by one. So another session is begun well before one ends.
 */
import { toBase64 } from '../../../base/shared/base64.ts';
import type { Authorization } from './authorization.ts';

/** Begins a session; gives the values of `Set-Cookie`, or undefined where the peer has no sessions for this name and password. */
export type BeginSession = (name: string, password: string) => Promise<readonly string[] | undefined>;

/** A run that finds nothing to do needs no session. */
const REQUESTS_BEFORE_SESSION = 3;
const COOKIE = /^\s*(AuthSession)\s*=\s*([^;]*)/;
const MAX_AGE = /;\s*max-age\s*=\s*(\d+)/i;
/** How long a session is used that does not say how long it lasts: most servers of the family let one last for ten minutes. */
const USED_MS = 240_000;
/** Of those that say it, half of that. */
const HALF_SECOND_MS = 500;

export class PasswordAuthorization implements Authorization {
  readonly #name: string;
  readonly #password: string;
  readonly #begin: BeginSession | undefined;
  readonly #now: () => number;
  #requests = 0;
  #cookie: string | undefined;
  #cookieAt = 0;
  #usedMs = USED_MS;
  #hasNoSessions = false;
  #beginning: Promise<void> | undefined;

  /** `begin`: undefined where the host's `fetch` sends no cookies. `now`: milliseconds, also those in which the machine sleeps. */
  constructor(name: string, password: string, begin: BeginSession | undefined, now: () => number) {
    this.#name = name;
    this.#password = password;
    this.#begin = begin;
    this.#now = now;
  }

  async headersFor(): Promise<Readonly<Record<string, string>>> {
    this.#requests++;
    const isDue = this.#cookie === undefined ? this.#requests > REQUESTS_BEFORE_SESSION : this.#isOld;
    if (isDue) {
      this.#cookie = undefined;
      await this.#beginSession();
    }
    if (this.#cookie !== undefined) return { cookie: this.#cookie };
    const bytes = new TextEncoder().encode(`${this.#name}:${this.#password}`);
    return { authorization: `Basic ${toBase64(bytes)}` };
  }

  takeCookies(cookies: readonly string[]): void {
    if (this.#cookie === undefined) return;
    this.#take(cookies);
  }

  async renew(): Promise<boolean> {
    const hadSession = this.#cookie !== undefined;
    this.#cookie = undefined;
    await this.#beginSession();
    // Where no new session was begun the next attempt brings the password.
    return hadSession || this.#cookie !== undefined;
  }

  /** A clock that was set back tells nothing of the time that has passed. */
  get #isOld(): boolean {
    const age = this.#now() - this.#cookieAt;
    return age < 0 || age > this.#usedMs;
  }

  async #beginSession(): Promise<void> {
    if (this.#begin === undefined || this.#hasNoSessions) return;
    this.#beginning ??= this.#begin(this.#name, this.#password)
      .then((cookies) => {
        if (cookies !== undefined) this.#take(cookies);
        this.#hasNoSessions = this.#cookie === undefined;
      })
      .finally(() => {
        this.#beginning = undefined;
      });
    await this.#beginning;
  }

  #take(cookies: readonly string[]): void {
    for (const cookie of cookies) {
      const [, name, value] = COOKIE.exec(cookie) ?? [];
      if (name === undefined || value === undefined || value === '') continue;
      const [, seconds] = MAX_AGE.exec(cookie) ?? [];
      this.#cookie = `${name}=${value}`;
      this.#cookieAt = this.#now();
      this.#usedMs = seconds === undefined ? USED_MS : Number(seconds) * HALF_SECOND_MS;
    }
  }
}
