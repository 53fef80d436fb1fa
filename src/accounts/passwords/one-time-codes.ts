/** Codes of an authenticator app beside the password: TOTP (RFC 6238) over HOTP (RFC 4226), in the family's form (docs/http/accounts.md#one-time-codes). */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { Clock } from '../../base/shared/clock.ts';
import { areEqualSecrets } from '../../base/shared/constant-time.ts';
import { remember } from './address-counts.ts';

const STEP_S = 30;
/** Steps before and after the present one whose codes are taken, since clocks differ. */
const WINDOW = 1;
const DIGITS = 6;
/** Users whose last code is remembered. Those whose codes no longer count are forgotten first. */
const MAX_REMEMBERED = 100_000;
/** Wrong codes of a user before all codes of that user have to wait, whichever address they come from. */
const FREE_TRIES = 5;
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 300_000;
/** After this time without a wrong code a user's wrong codes are forgotten. */
const FORGOTTEN_AFTER_MS = 3_600_000;
/** Users whose wrong codes are remembered. Only those count whose password was right, so strangers can't drop anyone's. */
const MAX_FAILING = 20_000;

interface WrongCodes {
  count: number;
  /** When the last one was, by the monotonic clock. */
  at: number;
  /** No code counts before this time. */
  blockedUntil: number;
}

const HASHES: Readonly<Record<string, string>> = {
  sha: 'SHA-1',
  sha256: 'SHA-256',
  sha384: 'SHA-384',
  sha512: 'SHA-512',
};
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

export interface TotpKey {
  readonly key: Uint8Array<ArrayBuffer>;
  /** As WebCrypto calls it. */
  readonly hash: string;
  /** 6 to 8. */
  readonly digits: number;
}

/** Returns the key of a user document, `unreadable` if no code can fit it, and undefined if the user needs no code. */
export function totpOf(document: JsonObject): TotpKey | 'unreadable' | undefined {
  const totp = ownMember(document, 'totp');
  if (totp === undefined) return undefined;
  if (!isObject(totp)) return 'unreadable';
  const key = fromBase32(ownMember(totp, 'key'));
  const algorithm = ownMember(totp, 'algorithm') ?? 'sha';
  const digits = ownMember(totp, 'length') ?? DIGITS;
  const hash = typeof algorithm === 'string' && Object.hasOwn(HASHES, algorithm) ? HASHES[algorithm] : undefined;
  if (key === undefined || hash === undefined || typeof digits !== 'number') return 'unreadable';
  return [6, 7, 8].includes(digits) ? { key, hash, digits } : 'unreadable';
}

/** Undefined for what is not Base32 (RFC 4648, 6), or has no bytes. Padding may be missing, and case does not matter. */
function fromBase32(value: unknown): Uint8Array<ArrayBuffer> | undefined {
  if (typeof value !== 'string') return undefined;
  const digits = value.toUpperCase().replace(/=*$/, '');
  const bytes: number[] = [];
  let bits = 0;
  let count = 0;
  for (const digit of digits) {
    const at = BASE32.indexOf(digit);
    if (at < 0) return undefined;
    bits = ((bits << 5) | at) & 0xfff;
    count += 5;
    if (count < 8) continue;
    count -= 8;
    bytes.push((bits >> count) & 0xff);
  }
  return bytes.length === 0 ? undefined : new Uint8Array(bytes);
}

/** Returns the code of one step. */
export async function codeAt({ key, hash, digits }: TotpKey, step: number): Promise<string> {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(step));
  const imported = await crypto.subtle.importKey('raw', key, { name: 'HMAC', hash }, false, ['sign']);
  const mac = new DataView(await crypto.subtle.sign('HMAC', imported, counter.buffer));
  const offset = mac.getUint8(mac.byteLength - 1) & 0xf;
  const number = mac.getUint32(offset) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/**
 * Checks codes, each of which counts once. Who has a user's password must not be able to try all codes: after some wrong ones all have to wait, right
 * ones too, twice as long each time. A code counts as wrong from its start, so that concurrent attempts don't avoid that.
 */
export class OneTimeCodes {
  readonly #clock: Clock;
  /** The step of each user's last code, the latest log-in at the end. */
  readonly #used = new Map<string, number>();
  /** By the name of the user, the latest wrong code at the end. */
  readonly #wrong = new Map<string, WrongCodes>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Whether that is a code of the user that counts now. From then on it does not, nor do earlier ones. To be called only if the user's password was
   * right. Nothing tells the client whether the code is wrong or has to wait: it would learn that the password is right.
   */
  async take(name: string, key: TotpKey, code: string): Promise<boolean> {
    // A client that sends none guesses nothing.
    if (code === '' || !this.#begin(name)) return false;
    const now = Math.floor(this.#clock.now() / 1000 / STEP_S);
    const steps = Array.from({ length: 2 * WINDOW + 1 }, (_, n) => Math.max(0, now - WINDOW + n));
    const codes = await Promise.all(steps.map((step) => codeAt(key, step)));
    // All are compared, so that the time does not tell which it is.
    const fitting = steps.filter((_, at) => areEqualSecrets(codes[at] ?? '', code));
    const step = fitting.find((each) => each > (this.#used.get(name) ?? -1));
    if (step === undefined) return false;
    this.#wrong.delete(name);
    this.#remember(name, step, now);
    return true;
  }

  /** Counts a code as wrong. False if it comes too soon; then it does not count. */
  #begin(name: string): boolean {
    const now = this.#clock.monotonic();
    const known = this.#wrong.get(name);
    const isKnown = known !== undefined && now - known.at < FORGOTTEN_AFTER_MS;
    if (isKnown && now < known.blockedUntil) return false;
    const count = (isKnown ? known.count : 0) + 1;
    const wait = count < FREE_TRIES ? 0 : Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** (count - FREE_TRIES));
    remember(this.#wrong, name, { count, at: now, blockedUntil: now + wait }, MAX_FAILING);
    return true;
  }

  #remember(name: string, step: number, now: number): void {
    this.#used.delete(name);
    this.#used.set(name, step);
    for (const [oldest, used] of this.#used) {
      if (used >= now - WINDOW && this.#used.size <= MAX_REMEMBERED) break;
      this.#used.delete(oldest);
    }
  }
}
