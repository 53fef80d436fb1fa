/**
 * The cookie of a session (docs/http/accounts.md#sessions). Its value is `name:time:id:signature` in base64url: the time is
 * when the cookie was made, in seconds and hexadecimal digits; the id is the same in all cookies of a session; the signature is HMAC-SHA1 of the
 * text before it, with the service's secret and the account's salt. Other servers of the family have no id in theirs. Nothing is stored for a
 * session while it lasts: it ends with its time, with the account, when the password changes, and when it is ended (`ended-sessions.ts`).
 */
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { fromBase64Url, joinBytes, randomHex, toBase64Url } from '../../base/shared/bytes.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import { areEqualSecretBytes } from '../../base/shared/constant-time.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { Config, ConfigStore } from '../../base/system/contract.ts';
import { type Account, type AccountStore, saltOf } from '../accounts/account-store.ts';
import type { Way } from '../contract.ts';
import { LruCache } from '../lru-cache.ts';
import { HMAC_BYTES, hmacSha1 } from '../passwords/key-derivation.ts';
import { authFlag, cacheSize, sameSite, sessionSeconds } from '../settings.ts';
import type { EndedSessions, Session } from './ended-sessions.ts';

export const SESSION_COOKIE = 'AuthSession';

const COLON = 0x3a;
/** A session is renewed when less than this share of its time is left. */
const RENEWED_BELOW = 0.9;
/** The longest value, in characters, that can be one of ours. */
const MAX_VALUE_LENGTH = 8_192;
/** 16 characters, so that no id can be taken for a time. */
const ID_BYTES = 12;
const WITH_ID = /^(.+):([\da-f]{1,12}):([\w-]{16})$/is;
const WITHOUT_ID = /^(.+):([\da-f]{1,12})$/is;

/** A session whose signature was right, with the salt it was checked with. */
interface Proved extends Session {
  readonly salt: string;
  readonly secret: string;
}

interface ReadSession extends Session {
  readonly signed: string;
  readonly signature: Uint8Array;
}

interface SessionOptions {
  readonly config: ConfigStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly accounts: AccountStore;
  readonly secret: SessionSecret;
  readonly ended: EndedSessions;
  /** Called when a user has ended a session. */
  readonly onEnd: (name: string) => void;
}

export interface LiveSession {
  readonly account: Account;
  readonly id: string;
  /** Whether it should be renewed. */
  readonly isDue: boolean;
  /** Whether it has not been ended since. */
  holds(): boolean;
}

export class SessionCookies {
  readonly #options: SessionOptions;
  readonly #proved: LruCache<string, Proved>;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#proved = new LruCache(() => cacheSize(options.config));
  }

  /**
   * Returns the session; undefined if it has ended, and `wrong` if it was not signed here. Synchronous for a recently used one.
   * Fails with `bad_request` if the value can't be parsed.
   */
  recognise(value: string): MaybePromise<LiveSession | 'wrong' | undefined> {
    const proved = this.#proved.get(value);
    const session = proved ?? readSession(value);
    const { secret, ended } = this.#options;
    const left = this.#secondsLeft(session);
    const current = secret.current;
    if (left <= 0 || current === undefined || ended.has(session)) return undefined;
    return whenReady(this.#options.accounts.find(session.name), (account) => {
      // Takes as long as for a name that exists. A user without a password never began a session.
      if (account?.hash === undefined) return hmacSha1(current, value).then(() => 'wrong');
      const isDue = left < RENEWED_BELOW * sessionSeconds(this.#options.config);
      const found = { account, id: session.id, isDue, holds: () => !ended.has(session) };
      if (proved !== undefined && proved.salt === saltOf(account) && proved.secret === current) return found;
      if (proved !== undefined) this.#proved.delete(value);
      return this.#isSigned(readSession(value), account, current).then((isSigned) => {
        if (!isSigned) return 'wrong';
        this.#proved.set(value, { ...session, salt: saltOf(account), secret: current });
        return ended.has(session) ? undefined : found;
      });
    });
  }

  /** Returns the header `Set-Cookie` that begins a session. */
  begin(account: Account, way: Way): Promise<string> {
    const { random } = this.#options;
    return this.renew({ account, id: toBase64Url(random(new Uint8Array(ID_BYTES))) }, way);
  }

  /** Returns the header `Set-Cookie` that renews a session. */
  async renew({ account, id }: Pick<LiveSession, 'account' | 'id'>, way: Way): Promise<string> {
    const { config, secret, ended } = this.#options;
    const signed = `${account.name}:${ended.timeOfNew(account.name).toString(16).toUpperCase()}:${id}`;
    const signature = await hmacSha1((await secret.get()) + saltOf(account), signed);
    const bytes = joinBytes([new TextEncoder().encode(`${signed}:`), signature]);
    return (
      setCookie(config, toBase64Url(bytes), way) + (authFlag(config, 'allow_persistent_cookies') ? this.#age() : '')
    );
  }

  /** Ends the session for everyone who has one of its cookies. Resolves when that would survive a crash. Fails as `recognise` does. */
  async end(value: string): Promise<void> {
    const session = await this.recognise(value);
    if (session === undefined || session === 'wrong') return;
    const { account, id } = session;
    await this.#options.ended.end({ name: account.name, id });
    this.#options.onEnd(account.name);
  }

  /** Sets both attributes: some clients know only `Expires`. */
  #age(): string {
    const age = sessionSeconds(this.#options.config);
    const expires = new Date((seconds(this.#options.clock) + age) * 1000);
    return `; Expires=${expires.toUTCString()}; Max-Age=${age}`;
  }

  /** A cookie from the future counts as equally old: the clock was set back. */
  #secondsLeft({ madeAt }: Session): number {
    return sessionSeconds(this.#options.config) - Math.abs(seconds(this.#options.clock) - madeAt);
  }

  async #isSigned({ signed, signature }: ReadSession, account: Account, secret: string): Promise<boolean> {
    return areEqualSecretBytes(await hmacSha1(secret + saltOf(account), signed), signature);
  }
}

/** Returns the header that ends the session in the client. Sets both attributes: some clients know only `Expires`. */
export function endedCookie(config: Config, way: Way): string {
  return `${setCookie(config, '', way)}; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0`;
}

/**
 * Browsers accept cookies for pages of other sites only with `Secure`, and such cookies only by https, or from this machine. For
 * other connections the cookie is for pages of the same site.
 */
function setCookie(config: Config, value: string, way: Way): string {
  const wanted = sameSite(config);
  const site = wanted === 'None' && way === 'http' ? 'Lax' : wanted;
  const secure = way === 'https' || site === 'None' ? '; Secure' : '';
  return `${SESSION_COOKIE}=${value}; Version=1; Path=/; HttpOnly${secure}; SameSite=${site}`;
}

/** Returns the value in a request's `Cookie` header; undefined if there is none, or an empty one. */
export function sessionValue(header: string | undefined): string | undefined {
  for (const part of header?.split(';') ?? []) {
    const equals = part.indexOf('=');
    if (part.slice(0, equals).trim() !== SESSION_COOKIE) continue;
    return (
      part
        .slice(equals + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1') || undefined
    );
  }
  return undefined;
}

function readSession(value: string): ReadSession {
  const bytes = value.length > MAX_VALUE_LENGTH ? undefined : fromBase64Url(value);
  // The signature may have any bytes, and a name may have colons: so it is parsed from its end.
  const end = (bytes?.length ?? 0) - HMAC_BYTES - 1;
  if (bytes === undefined || bytes[end] !== COLON) throw malformed();
  const signed = decode(bytes.subarray(0, end));
  const signature = bytes.subarray(end + 1);
  // When another server's session is renewed here all its cookies have the id derived from the first one.
  const ownId = toBase64Url(signature.subarray(0, ID_BYTES));
  const [, name, time, id = ownId] = WITH_ID.exec(signed) ?? WITHOUT_ID.exec(signed) ?? [];
  if (name === undefined || time === undefined) throw malformed();
  return { name, id, madeAt: Number.parseInt(time, 16), signed, signature };
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed();
  }
}

function malformed(): DatabaseError {
  return new DatabaseError('bad_request', 'Malformed AuthSession cookie. Please clear your cookies.');
}

function seconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}

const SECRET_BYTES = 32;

/** The secret that signs session cookies, `svc_httpd_auth/secret`. If it is unset, one is generated and stored. */
export class SessionSecret {
  readonly #config: ConfigStore;
  readonly #random: RandomBytes;
  #making: Promise<string> | undefined;

  constructor(config: ConfigStore, random: RandomBytes) {
    this.#config = config;
    this.#random = random;
  }

  /** Undefined if it is unset: nothing was signed with it then. */
  get current(): string | undefined {
    return this.#config.get('svc_httpd_auth', 'secret') || undefined;
  }

  async get(): Promise<string> {
    const { current } = this;
    if (current !== undefined) return current;
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #make(): Promise<string> {
    const secret = randomHex(this.#random, SECRET_BYTES);
    try {
      await this.#config.set('svc_httpd_auth', 'secret', secret);
    } catch (error) {
      // Set to nothing at the start: this secret lasts until the next start.
      if (!isDatabaseError(error, 'modification_not_allowed')) throw error;
      await this.#config.set('svc_httpd_auth', 'secret', secret, { persist: false });
    }
    return this.current ?? secret;
  }
}
