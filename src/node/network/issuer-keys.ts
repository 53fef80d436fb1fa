/** The public keys of one token issuer, fetched from its address and fetched again in time. */
import { createLocalJWKSet, createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose';
import { DatabaseError, RetryLaterError } from '../../base/errors/database-error.ts';
import { isObject, ownMember } from '../../base/json/objects.ts';
import { type Clock, startBackgroundTimer } from '../../base/shared/clock.ts';
import type { Log } from '../../base/system/contract.ts';
import { isLoopback, isSafeUrl, type TrustedIssuer } from './trusted-issuers.ts';

/** Of a key set, or of a provider's configuration. */
const MAX_BYTES = 262_144;
/** How long a fetch may take, with both requests if there are two. */
const MAX_FETCH_MS = 5_000;
/** After a fetch tokens with unknown keys do not cause another one for so long: anyone can send such tokens. */
const COOLDOWN_MS = 30_000;
/** How much later than that of a provider this server's clock may be. */
const MAX_SKEW_MS = 60_000;
/** How many keys that are gone are remembered by their ids: their tokens are refused at once, although they may be new. */
const MAX_GONE_KEYS = 100;
/** As the cooldown, after a failed fetch. */
const RETRY_MS = 5_000;

export interface IssuerKeysOptions {
  readonly issuer: TrustedIssuer;
  readonly clock: Clock;
  readonly log: Log;
  readonly fetch: typeof globalThis.fetch;
  /** Called when a key is gone, or the keys are too old. */
  readonly onLoss: () => void;
  /** Whether the settings still trust the issuer: if not, nothing is fetched any more. */
  readonly isTrusted: () => boolean;
}

export class IssuerKeys {
  readonly #options: IssuerKeysOptions;
  readonly #remote: ReturnType<typeof createRemoteJWKSet>;
  /** Of the latest fetch that failed, if none has succeeded since. */
  #failure: { readonly error: unknown; readonly until: number } | undefined;
  /** What was fetched last, and what of it is in use. */
  #text = '';
  /** The key set of which the log says that a key is of no use. */
  #uselessText = '';
  #notedText = '';
  #fetchedAtMs = 0;
  #version = 0;
  /** The ids of the keys that the issuer has now. */
  #ids: ReadonlySet<string> = new Set();
  /** The ids of keys that it had before. */
  readonly #gone = new Set<string>();
  readonly #cooldownMs: number;
  /** Whether the keys became too old, and `onLoss` was called for it. */
  #isLost = false;
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: IssuerKeysOptions) {
    this.#options = options;
    const { issuer } = options;
    this.#cooldownMs = Math.min(COOLDOWN_MS, issuer.maxKeyAgeMs);
    // It has to be an address, but `#fetchKeys` knows which.
    this.#remote = createRemoteJWKSet(new URL(issuer.jwksUrl ?? issuer.issuer), {
      cacheMaxAge: issuer.maxKeyAgeMs,
      cooldownDuration: this.#cooldownMs,
      timeoutDuration: MAX_FETCH_MS,
      [customFetch]: (_url, { signal }) => this.#fetchKeys(signal),
    });
  }

  /** Increases when a key was removed or replaced. */
  get version(): number {
    return this.#version;
  }

  /** Whether the keys are not too old. */
  get isFresh(): boolean {
    return this.#remote.fresh;
  }

  /**
   * Returns what finds the key of a token, as `jwtVerify` calls it. That fails with a temporary refusal if the key can't be known now. `issuedAtMs`: when
   * the token was issued, according to it. Keys are published before they sign: if it is older than the fetched keys, its key is not just a new one.
   */
  finder(issuedAtMs: number): JWTVerifyGetKey {
    return async (header, token) => {
      const { coolingDown } = this.#remote;
      this.#refreshAfter(this.#options.issuer.maxKeyAgeMs / 2);
      try {
        return await this.#remote(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw this.#toRefusal(error);
        const mayBeNew = issuedAtMs > this.#fetchedAtMs - MAX_SKEW_MS && !this.#gone.has(header.kid ?? '');
        if (coolingDown && mayBeNew) throw unknownYet(this.#options.issuer, this.#cooldownMs);
        throw error;
      } finally {
        this.#noteFetched();
      }
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#stopTimer?.();
  }

  /** Fetches the keys again at half of their age, so that no token has to wait, and an issuer may be away for a while. */
  #refreshAfter(ms: number): void {
    if (this.#stopTimer !== undefined || this.#isClosed) return;
    this.#stopTimer = startBackgroundTimer(ms, () => {
      this.#stopTimer = undefined;
      if (this.#options.isTrusted()) void this.#refresh();
    });
  }

  /** Never fails. */
  async #refresh(): Promise<void> {
    const halfAgeMs = this.#options.issuer.maxKeyAgeMs / 2;
    try {
      await this.#remote.reload();
      this.#isLost = false;
      this.#noteFetched();
      this.#refreshAfter(halfAgeMs);
    } catch {
      // Logged already. Standing requests end whose tokens nobody can check any more.
      if (!this.#remote.fresh && !this.#isLost) {
        this.#isLost = true;
        this.#options.onLoss();
      }
      this.#refreshAfter(Math.min(RETRY_MS, halfAgeMs));
    }
  }

  /** Called when fetched keys are in use. */
  #noteFetched(): void {
    if (this.#text === this.#notedText) return;
    const isChange = this.#notedText !== '';
    this.#notedText = this.#text;
    this.#noteIds();
    if (!isChange) return;
    this.#version += 1;
    this.#options.onLoss();
  }

  #noteIds(): void {
    const ids = new Set((this.#remote.jwks()?.keys ?? []).flatMap(({ kid }) => kid ?? []));
    for (const id of this.#ids) this.#gone.add(id);
    for (const id of ids) this.#gone.delete(id);
    this.#ids = ids;
    for (const id of this.#gone) {
      if (this.#gone.size <= MAX_GONE_KEYS) break;
      this.#gone.delete(id);
    }
  }

  async #fetchKeys(signal: AbortSignal): Promise<Response> {
    const { clock, log, issuer } = this.#options;
    if (this.#failure !== undefined && clock.now() < this.#failure.until) throw this.#failure.error;
    const where = issuer.jwksUrl ?? issuer.issuer;
    try {
      const text = await this.#read(signal);
      if (this.#failure !== undefined)
        log.info(`the keys of the token issuer ${issuer.name} (${where}) were read again`);
      this.#failure = undefined;
      this.#text = text;
      this.#fetchedAtMs = clock.now();
      return new Response(text, { headers: { 'content-type': 'application/json' } });
    } catch (error) {
      if (this.#failure === undefined) {
        const kept = this.#remote.fresh
          ? 'until then the keys read before are used'
          : 'its tokens are refused with 503 until then';
        log.error(
          `The keys of the token issuer ${issuer.name} can't be read from ${where}; the server tries again, and ${kept}.`,
          error,
        );
      }
      this.#failure = { error, until: clock.now() + RETRY_MS };
      throw error;
    }
  }

  /** Returns the text of the key set. */
  async #read(signal: AbortSignal): Promise<string> {
    const { issuer } = this.#options;
    const address = issuer.jwksUrl ?? (await this.#discover(signal));
    const text = await this.#get(address, signal);
    try {
      // As it is read when it is used: what fails there is not a failed fetch, and would be fetched again for each token.
      createLocalJWKSet(JSON.parse(text));
    } catch (cause) {
      throw new Error(`${address} did not send a JSON Web Key Set.`, { cause });
    }
    return text;
  }

  /** Returns the address that the provider's own configuration names (OpenID Connect Discovery 1.0, 4). */
  async #discover(signal: AbortSignal): Promise<string> {
    const { issuer } = this.#options.issuer;
    const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const found: unknown = JSON.parse(await this.#get(address, signal));
    const [own, jwksUri] = isObject(found) ? [ownMember(found, 'issuer'), ownMember(found, 'jwks_uri')] : [];
    if (own !== issuer) {
      throw new Error(
        `${address} is the configuration of the issuer ${JSON.stringify(own)?.slice(0, 200)}. Set "issuer" to exactly that, if it is the right one.`,
      );
    }
    const isSafe = typeof jwksUri === 'string' && isSafeUrl(jwksUri);
    // A provider elsewhere must not have the server read an address of its own machine.
    if (!isSafe || (isLoopback(new URL(jwksUri)) && !isLoopback(new URL(issuer)))) {
      throw new Error(`${address} names no https: address as jwks_uri.`);
    }
    return jwksUri;
  }

  async #get(address: string, signal: AbortSignal): Promise<string> {
    const response = await this.#options.fetch(address, {
      headers: { accept: 'application/json, application/jwk-set+json' },
      redirect: 'manual',
      signal,
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`${address} answered with ${response.status}, and redirects are not followed.`);
    }
    return readText(response, address);
  }

  #toRefusal(error: unknown): unknown {
    const isOfToken = error instanceof errors.JOSENotSupported || error instanceof errors.JWKSMultipleMatchingKeys;
    if (error instanceof DatabaseError || isOfToken) return error;
    const { name } = this.#options.issuer;
    // A failed fetch was logged by `#fetchKeys`. Clients are not told why: the address of the keys may be an internal one.
    if (this.#failure === undefined && this.#uselessText !== this.#text) {
      this.#uselessText = this.#text;
      this.#options.log.error(
        `A key of the token issuer ${name} can't be used; tokens with it are refused with 503.`,
        error,
      );
    }
    const reason = `The bearer token can't be checked now: the keys of its issuer ${name} can't be read. Send the request again later; if it lasts, the operator should look at the log, at jwt_issuers/${name}, and at the issuer.`;
    return new RetryLaterError('too_busy', reason, RETRY_MS / 1000);
  }
}

async function readText(response: Response, address: string): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > MAX_BYTES) throw new Error(`${address} sent more than ${MAX_BYTES} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function unknownYet({ name }: TrustedIssuer, cooldownMs: number): RetryLaterError {
  const seconds = Math.ceil(cooldownMs / 1000);
  const reason = `The bearer token can't be checked now: the keys of its issuer ${name}, which were read a moment ago, do not have its key. Send the request again in ${seconds} seconds.`;
  return new RetryLaterError('too_busy', reason, seconds);
}
