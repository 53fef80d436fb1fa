/**
 * Bearer tokens that an app provides (docs/http/replication.md#credentials-of-endpoints). All replications share them: the app is asked one
 * question at a time for each database.
 */
import { toWellFormed } from '../base/json/portable-values.ts';
import { type Clock, startBackgroundTimer } from '../base/shared/clock.ts';
import { isAtOrBelow } from '../base/shared/url-prefix.ts';
import type { ProvidedToken, TokenFailure, TokenSource, TokenSourceChange, Tokens } from './contract.ts';
import { CredentialsAwaited } from './failure.ts';

/** A token is renewed this long before it expires, or at half of its time if that is later. */
const EARLY_MS = 60_000;
/** Time between two questions about a token that seems to expire, such as on a device with a wrong clock. */
const MIN_USE_MS = 10_000;
/** Changes of the source that are kept, the latest. */
const MAX_CHANGES = 100;
/** Databases whose tokens are kept, the latest. */
const MAX_TOKENS = 1_000;

interface KeptToken {
  readonly token: string;
  /** By the monotonic clock: when the app is asked for the next one. */
  readonly renewAt: number;
}

/** What waits for a token for a database. */
interface Waiter {
  readonly url: string;
  readonly goOn: () => void;
}

export class ProvidedTokens implements Tokens {
  readonly #source: TokenSource;
  readonly #clock: Clock;
  readonly #kept = new Map<string, KeptToken>();
  readonly #questions = new Map<string, Promise<string>>();
  readonly #waiters = new Set<Waiter>();
  /** The prefixes of the latest providers that were added, the oldest first. `#additions` counts all of them. */
  readonly #added: (string | undefined)[] = [];
  #additions = 0;
  readonly #stopListening: () => void;

  constructor(source: TokenSource, clock: Clock) {
    this.#source = source;
    this.#clock = clock;
    this.#stopListening = source.onChange((change) => this.#take(change));
  }

  async tokenFor(url: string): Promise<string> {
    const kept = this.#kept.get(url);
    if (kept === undefined) return this.#ask(url, undefined);
    if (this.#clock.monotonic() < kept.renewAt) return kept.token;
    return this.#ask(url, undefined).catch((failure: unknown) => {
      // Meanwhile its provider was removed: the user has logged out.
      if (this.#kept.get(url) !== kept) throw failure;
      // It may still be valid: the peer decides.
      const renewAt = this.#clock.monotonic() + MIN_USE_MS;
      this.#kept.set(url, { token: kept.token, renewAt });
      return kept.token;
    });
  }

  async renew(url: string, refused: string): Promise<boolean> {
    const kept = this.#kept.get(url)?.token;
    // Another request has renewed it already.
    if (kept !== undefined && kept !== refused) return true;
    this.#kept.delete(url);
    return (await this.#ask(url, refused)) !== refused;
  }

  next(
    { url, seen = this.#additions }: { readonly url: string; readonly seen?: number | undefined },
    goOn: () => void,
  ) {
    const unseen = Math.min(this.#additions - seen, this.#added.length);
    const isThere = unseen > 0 && this.#added.slice(-unseen).some((prefix) => isMeant(url, prefix));
    if (isThere) return startBackgroundTimer(0, goOn);
    const waiter = { url, goOn };
    this.#waiters.add(waiter);
    return () => this.#waiters.delete(waiter);
  }

  close(): void {
    this.#stopListening();
    this.#waiters.clear();
    this.#kept.clear();
  }

  #ask(url: string, refused: string | undefined): Promise<string> {
    const asked = this.#questions.get(url);
    if (asked !== undefined) return asked;
    const question = this.#askSource(url, refused).finally(() => this.#questions.delete(url));
    this.#questions.set(url, question);
    return question;
  }

  async #askSource(url: string, refused: string | undefined): Promise<string> {
    const seen = this.#additions;
    const provided = await this.#source.ask(url, refused).catch((failure: unknown) => {
      const text = failure instanceof Error ? failure.message : String(failure);
      // Half a character can't be stored, so the document could never report the failure.
      const why = `the page that provides bearer tokens for ${url} failed: ${toWellFormed(text)}`;
      throw new CredentialsAwaited(url, why, seen, isOffline(failure) ? new URL(url).origin : undefined);
    });
    if (provided === undefined) throw new CredentialsAwaited(url, noToken(url), seen);
    this.#kept.delete(url);
    this.#kept.set(url, { token: provided.token, renewAt: this.#renewalOf(provided) });
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_TOKENS) break;
      this.#kept.delete(oldest);
    }
    return provided.token;
  }

  #renewalOf({ token, expires = expiryOf(token) }: ProvidedToken): number {
    const now = this.#clock.monotonic();
    if (expires === undefined) return Number.POSITIVE_INFINITY;
    const leftMs = expires - this.#clock.now();
    return now + Math.max(MIN_USE_MS, leftMs - EARLY_MS, leftMs / 2);
  }

  #take({ type, prefix }: TokenSourceChange): void {
    if (type === 'removed') {
      for (const url of [...this.#kept.keys()]) if (isMeant(url, prefix)) this.#kept.delete(url);
      return;
    }
    this.#additions++;
    this.#added.push(prefix);
    if (this.#added.length > MAX_CHANGES) this.#added.shift();
    for (const waiter of [...this.#waiters]) {
      if (!isMeant(waiter.url, prefix)) continue;
      this.#waiters.delete(waiter);
      waiter.goOn();
    }
  }
}

function isOffline(failure: unknown): boolean {
  return failure instanceof Error && (failure as TokenFailure).isOffline === true;
}

function isMeant(url: string, prefix: string | undefined): boolean {
  return prefix === undefined || isAtOrBelow(url, prefix);
}

function noToken(url: string): string {
  return `no open page provides a bearer token for ${url}. Open the app and log in there; it calls settee.credentials().`;
}

/** Returns the time of `exp` in a JWT (RFC 7519, 4.1.4), in milliseconds since the epoch; undefined for any other token. */
function expiryOf(token: string): number | undefined {
  const [, payload, signature] = token.split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    const { exp }: { readonly exp?: unknown } = Object(claims);
    return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1_000 : undefined;
  } catch {
    return undefined;
  }
}
