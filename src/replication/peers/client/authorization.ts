/** Adds the sender's credentials to requests to a peer. Nothing here is ever shown: neither in a log nor in an error. */
import { randomHex, toBase64 } from '../../../base/shared/bytes.ts';
import type { Clock, RandomBytes } from '../../../base/shared/clock.ts';
import { oauthEncode, oauthSignature } from '../../../base/shared/oauth-signature.ts';
import type { Credentials, Tokens } from '../../contract.ts';
import { CredentialsAwaited } from '../../failure.ts';
import type { Transport } from './transport.ts';

interface SignedRequest {
  readonly method: string;
  /** The absolute URL, as sent. */
  readonly url: string;
}

type Headers = Readonly<Record<string, string>>;

export interface Authorization {
  /** Returns the headers for a request. Fails with `CredentialsAwaited` if there are no credentials at present. */
  headersFor(request: SignedRequest): Promise<Headers>;
  /** Takes the cookies of a response. */
  takeCookies(cookies: readonly string[]): void;
  /**
   * A request was answered with 401. Returns true if it is worth another attempt, with what `headersFor` returns from now on. `sent`: what it
   * returned for that request.
   */
  renew(sent: Headers): Promise<boolean>;
  /** The error for a request that was answered with 401 and can't be repeated, if such attempts don't count. */
  refusal?(): CredentialsAwaited;
}

/** For peers that need only the headers that the replication names. */
export const anonymous: Authorization = {
  headersFor: async () => ({}),
  takeCookies: () => {},
  renew: async () => false,
};

/** Begins a session; returns the values of `Set-Cookie`, or undefined if the peer has no sessions for this name and password. */
type BeginSession = (name: string, password: string) => Promise<readonly string[] | undefined>;

/** A run that finds nothing to do needs no session. */
const REQUESTS_BEFORE_SESSION = 3;
const COOKIE = /^\s*(AuthSession)\s*=\s*([^;]*)/;
const MAX_AGE = /;\s*max-age\s*=\s*(\d+)/i;
/** How long a session without a stated lifetime is used: most servers of the family let one last for ten minutes. */
const USED_MS = 240_000;
/** Renews a session at half of its Max-Age. */
const HALF_SECOND_MS = 500;

/**
 * Name and password. A peer hashes the password of each request that has one, which is deliberately slow. So after a few
 * requests a session is begun, whose cookie is sent instead. Peers without sessions continue to get the password.
 *
 * A peer treats a client with the cookie of an expired session as anonymous. If anonymous clients may not write, it returns 401. If
 * a validation function decides, it refuses the documents, one by one. So another session is begun well before one ends.
 */
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

/** A peer that doesn't respond in this time gets the password with each request. */
const MAX_WAIT_MS = 10_000;

/** Returns what begins sessions at a peer: `POST /_session` beside its databases. */
export function beginSession(transport: Transport): BeginSession {
  return async (name, password) => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), MAX_WAIT_MS);
    try {
      const answer = await transport.send({
        method: 'POST',
        path: '/_session',
        ofServer: true,
        isConfidential: true,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ name, password }),
        signal: controller.signal,
      });
      await answer.body.cancel();
      return answer.status === 200 ? answer.cookies : undefined;
    } catch {
      // A session is only a shortcut: the request itself finds out whether the peer can be reached.
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  };
}

const NONCE_BYTES = 16;

/** Signs each request with OAuth 1.0 (RFC 5849). */
export class OAuthAuthorization implements Authorization {
  readonly #credentials: Extract<Credentials, { kind: 'oauth' }>;
  readonly #clock: Clock;
  readonly #random: RandomBytes;

  constructor(credentials: Extract<Credentials, { kind: 'oauth' }>, clock: Clock, random: RandomBytes) {
    this.#credentials = credentials;
    this.#clock = clock;
    this.#random = random;
  }

  async headersFor({ method, url }: SignedRequest): Promise<Readonly<Record<string, string>>> {
    const { consumerKey, consumerSecret, token, tokenSecret, signatureMethod } = this.#credentials;
    const parameters = {
      oauth_consumer_key: consumerKey,
      oauth_token: token,
      oauth_signature_method: signatureMethod,
      oauth_timestamp: String(Math.floor(this.#clock.now() / 1_000)),
      oauth_nonce: randomHex(this.#random, NONCE_BYTES),
      oauth_version: '1.0',
    };
    const secrets = { consumer: consumerSecret, token: tokenSecret };
    const signature = await oauthSignature(signatureMethod, { method, url, parameters }, secrets);
    const all = Object.entries({ ...parameters, oauth_signature: signature });
    return { authorization: `OAuth ${all.map(([name, value]) => `${name}="${oauthEncode(value)}"`).join(', ')}` };
  }

  takeCookies(): void {}

  async renew(): Promise<boolean> {
    return false;
  }
}

/** A token that the replication names (RFC 6750, 2.1). */
export class BearerAuthorization implements Authorization {
  readonly #token: string;

  constructor(token: string) {
    this.#token = token;
  }

  async headersFor(): Promise<Headers> {
    return bearer(this.#token);
  }

  takeCookies(): void {}

  async renew(): Promise<boolean> {
    return false;
  }
}

/** A token that an app provides, and renews. */
export class ProvidedAuthorization implements Authorization {
  readonly #url: string;
  readonly #tokens: Tokens;

  /** `url`: the database's. */
  constructor(url: string, tokens: Tokens) {
    this.#url = url;
    this.#tokens = tokens;
  }

  async headersFor(): Promise<Headers> {
    return bearer(await this.#tokens.tokenFor(this.#url));
  }

  takeCookies(): void {}

  async renew({ authorization = '' }: Headers): Promise<boolean> {
    return this.#tokens.renew(this.#url, authorization.slice(BEARER.length));
  }
}

const BEARER = 'Bearer ';

function bearer(token: string): Headers {
  return { authorization: `${BEARER}${token}` };
}

/** The browser adds the cookies that it has of the peer. Without a session, the replication waits until the user has one. */
export function sessionOfBrowser(url: string): Authorization {
  const why = `the user of this browser has no session at ${new URL(url).origin}, or it has ended. Log in there; the replication then goes on.`;
  return { ...anonymous, refusal: () => new CredentialsAwaited(url, why) };
}
