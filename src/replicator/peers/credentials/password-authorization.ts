/**
 * Name and password. A peer computes the hash of a password for each request that brings one, which is made slow on purpose. So after a few
 * requests a session is begun, whose cookie is sent instead. Peers that have none get the password on.
 */
import { toBase64 } from '../../../shared/base64.ts';
import type { Authorization } from './authorization.ts';

/** Begins a session; gives the values of `Set-Cookie`, or undefined where the peer has no sessions for this name and password. */
export type BeginSession = (name: string, password: string) => Promise<readonly string[] | undefined>;

/** A run that finds nothing to do needs no session. */
const REQUESTS_BEFORE_SESSION = 3;
const COOKIE = /^\s*(AuthSession)\s*=\s*([^;]*)/;

export class PasswordAuthorization implements Authorization {
  readonly #name: string;
  readonly #password: string;
  readonly #begin: BeginSession | undefined;
  #requests = 0;
  #cookie: string | undefined;
  #hasNoSessions = false;
  #beginning: Promise<void> | undefined;

  /** `begin`: undefined where the host's `fetch` sends no cookies. */
  constructor(name: string, password: string, begin: BeginSession | undefined) {
    this.#name = name;
    this.#password = password;
    this.#begin = begin;
  }

  async headersFor(): Promise<Readonly<Record<string, string>>> {
    this.#requests++;
    if (this.#cookie === undefined && this.#requests > REQUESTS_BEFORE_SESSION) await this.#beginSession();
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
      if (name !== undefined && value !== undefined && value !== '') this.#cookie = `${name}=${value}`;
    }
  }
}
