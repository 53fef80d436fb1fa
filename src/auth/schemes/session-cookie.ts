/**
 * The cookie of a session (docs/http.md#sessions). Its value is `name:time:signature` in the alphabet of Base64 for addresses: the time is
 * that of its making, in seconds and hexadecimal digits; the signature is HMAC-SHA1 of what stands before it, under the service's secret and
 * the account's salt. Nothing is kept of a session: it ends with its time, with the account, and when the password changes.
 */
import { DatabaseError } from '../../errors/database-error.ts';
import { fromBase64, toBase64 } from '../../shared/base64.ts';
import type { Clock } from '../../shared/clock.ts';
import { areEqualSecretBytes } from '../../shared/constant-time.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import type { ConfigStore } from '../../system/contract.ts';
import { type Account, saltOf } from '../accounts/account.ts';
import type { AccountStore } from '../accounts/account-store.ts';
import { RecentEntries } from '../recent-entries.ts';
import { authFlag, cacheSize, sessionSeconds } from '../settings.ts';
import { HMAC_BYTES, hmacSha1 } from './hmac.ts';
import type { SessionSecret } from './session-secret.ts';

export const SESSION_COOKIE = 'AuthSession';

const COLON = 0x3a;
/** A session is renewed where less than this share of its time is left. */
const RENEWED_BELOW = 0.9;
/** Characters of a value that can be one of ours. */
const LONGEST_VALUE = 8_192;

interface Session {
  readonly name: string;
  /** Seconds since the epoch at which the cookie was made. */
  readonly madeAt: number;
}

/** A session whose signature was right, with what that depended on. */
interface Proved extends Session {
  readonly salt: string;
  readonly secret: string;
}

interface ReadSession extends Session {
  readonly signed: string;
  readonly signature: Uint8Array;
}

interface SessionParts {
  readonly config: ConfigStore;
  readonly clock: Clock;
  readonly accounts: AccountStore;
  readonly secret: SessionSecret;
}

export class SessionCookies {
  readonly #parts: SessionParts;
  readonly #proved: RecentEntries<string, Proved>;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#proved = new RecentEntries(() => cacheSize(parts.config));
  }

  /**
   * The account whose session it is, and whether it should be renewed; undefined where it has ended, or was not signed here. In the same turn
   * for a session that was asked for lately. Fails with `bad_request` where the value can't be read.
   */
  recognise(value: string): MaybePromise<{ readonly account: Account; readonly isDue: boolean } | undefined> {
    const proved = this.#proved.get(value);
    const session = proved ?? readSession(value);
    const { secret } = this.#parts;
    const left = this.#secondsLeft(session);
    const current = secret.current;
    if (left <= 0 || current === undefined) return undefined;
    return whenReady(this.#parts.accounts.find(session.name), (account) => {
      // Takes as long as for a name that exists. Who has no password never began a session.
      if (account?.hash === undefined) return hmacSha1(current, value).then(() => undefined);
      const found = { account, isDue: left < RENEWED_BELOW * sessionSeconds(this.#parts.config) };
      if (proved !== undefined && proved.salt === saltOf(account) && proved.secret === current) return found;
      if (proved !== undefined) this.#proved.delete(value);
      return this.#isSigned(readSession(value), account, current).then((isSigned) => {
        if (!isSigned) return undefined;
        this.#proved.set(value, { ...session, salt: saltOf(account), secret: current });
        return found;
      });
    });
  }

  /** The header `Set-Cookie` that begins a session, or renews it. */
  async begin(account: Account, isSecure: boolean): Promise<string> {
    const { config, clock, secret } = this.#parts;
    const signed = `${account.name}:${seconds(clock).toString(16).toUpperCase()}`;
    const signature = await hmacSha1((await secret.get()) + saltOf(account), signed);
    const bytes = concatenate(new TextEncoder().encode(`${signed}:`), signature);
    const value = toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
    return setCookie(value, isSecure) + (authFlag(config, 'allow_persistent_cookies') ? this.#age() : '');
  }

  /** In both ways: there are clients that know `Expires` alone. */
  #age(): string {
    const age = sessionSeconds(this.#parts.config);
    const expires = new Date((seconds(this.#parts.clock) + age) * 1000);
    return `; Expires=${expires.toUTCString()}; Max-Age=${age}`;
  }

  /** A cookie from the future is as old as it is young: the clock was set back. */
  #secondsLeft({ madeAt }: Session): number {
    return sessionSeconds(this.#parts.config) - Math.abs(seconds(this.#parts.clock) - madeAt);
  }

  async #isSigned({ signed, signature }: ReadSession, account: Account, secret: string): Promise<boolean> {
    return areEqualSecretBytes(await hmacSha1(secret + saltOf(account), signed), signature);
  }
}

/** The header that ends it in the client. In both ways: there are clients that know `Expires` alone. */
export function endedCookie(isSecure: boolean): string {
  return `${setCookie('', isSecure)}; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=0`;
}

function setCookie(value: string, isSecure: boolean): string {
  return `${SESSION_COOKIE}=${value}; Version=1; Path=/; HttpOnly${isSecure ? '; Secure' : ''}`;
}

/** The value in a request's `Cookie` header; undefined where there is none, or an empty one. */
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
  const bytes = value.length > LONGEST_VALUE ? undefined : fromBase64(value.replaceAll('-', '+').replaceAll('_', '/'));
  // The signature may have any bytes, and a name may have colons: so it is read from its end.
  const end = (bytes?.length ?? 0) - HMAC_BYTES - 1;
  if (bytes === undefined || bytes[end] !== COLON) throw malformed();
  const signed = decode(bytes.subarray(0, end));
  const [, name, time] = /^(.+):([\dA-F]{1,12})$/is.exec(signed) ?? [];
  if (name === undefined || time === undefined) throw malformed();
  return { name, madeAt: Number.parseInt(time, 16), signed, signature: bytes.subarray(end + 1) };
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

function concatenate(one: Uint8Array, other: Uint8Array): Uint8Array {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}
