/**
 * Name and password. A peer hashes the password of each request that has one, which is deliberately slow. So after a few
 * requests a session is begun, whose cookie is sent instead. Peers without sessions continue to get the password.
 *
 * A peer treats a client with the cookie of an expired session as anonymous. If anonymous clients may not write, it returns 401. If
 * a validation function decides, it refuses the documents, one by one. So another session is begun well before one ends.
 */
import { toBase64 } from '../../../base/shared/bytes.ts';
import type { Authorization } from './authorization.ts';

/** Begins a session; returns the values of `Set-Cookie`, or undefined if the peer has no sessions for this name and password. */
export type BeginSession = (name: string, password: string) => Promise<readonly string[] | undefined>;

/** A run that finds nothing to do needs no session. */
const REQUESTS_BEFORE_SESSION = 3;
const COOKIE = /^\s*(AuthSession)\s*=\s*([^;]*)/;
const MAX_AGE = /;\s*max-age\s*=\s*(\d+)/i;
/** How long a session without a stated lifetime is used: most servers of the family let one last for ten minutes. */
const USED_MS = 240_000;
/** Renews a session at half of its Max-Age. */
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

  /** `begin`: undefined if the host's `fetch` sends no cookies. `now`: milliseconds, including time in which the machine sleeps. */
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
    // If no new session was begun the next attempt sends the password.
    return hadSession || this.#cookie !== undefined;
  }

  /** If the clock was set back, it does not show the time that has passed. */
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
