/**
 * OAuth 1.0 (RFC 5849; docs/http/accounts.md#oauth): requests signed with the secrets of a consumer and of a token, which stand for one account. The
 * parameters come in the header `Authorization`, or in the query. A signed request is valid once, and for some minutes.
 */
import { CustomCodeError } from '../../base/errors/database-error.ts';
import { toHex } from '../../base/shared/bytes.ts';
import type { Clock } from '../../base/shared/clock.ts';
import { areEqualSecrets } from '../../base/shared/constant-time.ts';
import { type OAuthSignatureMethod, oauthSignature } from '../../base/shared/oauth-signature.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { Account, AccountStore } from '../accounts/account-store.ts';
import { usable } from '../accounts/logins.ts';
import type { AskingRequest } from '../contract.ts';
import { useUsersForOAuth } from '../settings.ts';

/** The number of nonces that are remembered for all users together. */
const MAX_NONCES = 100_000;

/** Remembers signed requests, so that each is valid once (RFC 5849, 3.3). If there are too many, it drops the oldest of the user with the most. */
export class UsedNonces {
  /** In the order in which they came. */
  readonly #ofUsers = new Map<string, Set<string>>();
  readonly #most: number;
  #count = 0;

  constructor(most = MAX_NONCES) {
    this.#most = most;
  }

  /** Whether the request is new; remembers it then. `mark`: short, and different for each request. */
  isNew(user: string, mark: string): boolean {
    const own = this.#ofUsers.get(user) ?? new Set();
    if (own.has(mark)) return false;
    own.add(mark);
    this.#ofUsers.set(user, own);
    this.#count += 1;
    if (this.#count > this.#most) this.#makeRoom();
    return true;
  }

  /** Drops half of one user's, so that this is not needed for each request. */
  #makeRoom(): void {
    const [user, most] = [...this.#ofUsers].reduce((one, other) => (other[1].size > one[1].size ? other : one));
    let left = Math.ceil(most.size / 2);
    this.#count -= left;
    for (const mark of most) {
      if (left === 0) break;
      most.delete(mark);
      left -= 1;
    }
    if (most.size === 0) this.#ofUsers.delete(user);
  }
}

/** Seconds by which the clocks of a client and of this service may differ. */
const CLOCK_SKEW_S = 300;

type Parameters = Readonly<Record<string, string>>;

/** Finds the consumers and tokens that users keep in their documents. */
export interface OAuthUsers {
  /** Returns the users whose documents have both, with their secrets. Anyone may name another user's consumer and token. */
  find(consumer: string, token: string): Promise<readonly OAuthSecrets[]>;
}

export interface OAuthSecrets {
  readonly name: string;
  readonly consumer: string;
  readonly token: string;
  /** Whether they are from a user document, which anyone may write: they can't stand for a server admin then. */
  readonly isOfDocument: boolean;
}

export class OAuth {
  readonly #config: ConfigStore;
  readonly #clock: Clock;
  readonly #accounts: AccountStore;
  readonly #users: OAuthUsers;
  readonly #nonces = new UsedNonces();

  constructor(config: ConfigStore, clock: Clock, accounts: AccountStore, users: OAuthUsers) {
    this.#config = config;
    this.#clock = clock;
    this.#accounts = accounts;
    this.#users = users;
  }

  /** Returns undefined if the request is not signed. Fails with `bad_request`, with the scheme's wording. */
  recognise(request: AskingRequest): Promise<Account> | undefined {
    const ofHeader = parseHeader(request.header('authorization'));
    const parameters = ofHeader ?? parametersOfQuery(request.search);
    return parameters && this.#accountOf(request, parameters, ofHeader !== undefined);
  }

  async #accountOf(request: AskingRequest, parameters: Parameters, isInHeader: boolean): Promise<Account> {
    const version = parameters['oauth_version'];
    if (version !== undefined && version !== '1.0') throw refusal('invalid_oauth_version', 'Invalid OAuth version.');
    const candidates = await this.#secretsOf(parameters);
    const secrets = await signerOf(request, parameters, candidates, isInHeader);
    await this.#checkNonce(parameters, secrets.name);
    const account = await this.#accounts.find(secrets.name);
    if (account === undefined || (secrets.isOfDocument && account.kind === 'admin')) {
      throw refusal('invalid_token', 'Invalid OAuth token.');
    }
    return usable(account);
  }

  /** Returns at least one. */
  async #secretsOf(parameters: Parameters): Promise<readonly OAuthSecrets[]> {
    const consumerKey = parameters['oauth_consumer_key'];
    const tokenKey = parameters['oauth_token'];
    if (consumerKey === undefined) throw refusal('invalid_consumer', 'Invalid consumer.');
    if (tokenKey === undefined) throw refusal('invalid_token', 'Invalid OAuth token.');
    if (useUsersForOAuth(this.#config)) {
      const found = await this.#users.find(consumerKey, tokenKey);
      if (found.length === 0) {
        throw refusal('invalid_consumer_token_pair', 'Invalid consumer and token pair.');
      }
      return found;
    }
    const consumer = this.#config.get('oauth_consumer_secrets', consumerKey);
    if (consumer === undefined) throw refusal('invalid_consumer', 'Invalid consumer.');
    const token = this.#config.get('oauth_token_secrets', tokenKey);
    const name = this.#config.get('oauth_token_users', tokenKey);
    if (token === undefined || name === undefined) throw refusal('invalid_token', 'Invalid OAuth token.');
    return [{ name, consumer, token, isOfDocument: false }];
  }

  /** Remembers a nonce only if the signature is right, so that no one else can use a nonce up. */
  async #checkNonce(parameters: Parameters, name: string): Promise<void> {
    const { oauth_nonce: nonce, oauth_timestamp: timestamp } = parameters;
    // With this method the signature is the secrets themselves: anyone who has seen it can use it again, whatever its nonce.
    if (nonce === undefined && timestamp === undefined && parameters['oauth_signature_method'] === 'PLAINTEXT') return;
    const seconds = /^\d{1,12}$/.test(timestamp ?? '') ? Number(timestamp) : Number.NaN;
    const isRecent = Math.abs(this.#clock.now() / 1000 - seconds) <= CLOCK_SKEW_S;
    const parts = [parameters['oauth_consumer_key'], parameters['oauth_token'], timestamp, nonce];
    // Any of them may be long.
    const mark = await digestOf(JSON.stringify(parts));
    if (nonce === undefined || nonce === '' || !isRecent || !this.#nonces.isNew(name, mark)) {
      throw refusal('invalid_signature', 'Invalid signature value.');
    }
  }
}

async function digestOf(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))));
}

/** Returns the candidate whose secrets signed the request. */
async function signerOf(
  { method, url }: AskingRequest,
  parameters: Parameters,
  candidates: readonly OAuthSecrets[],
  isInHeader: boolean,
): Promise<OAuthSecrets> {
  const given = parameters['oauth_signature'] ?? '';
  const way = parameters['oauth_signature_method'];
  if (!isSignatureMethod(way)) throw refusal('invalid_signature', 'Invalid signature value.');
  const signed = isInHeader ? { method, url, parameters } : { method, url: withoutSignature(url), parameters: {} };
  for (const secrets of candidates) {
    if (areEqualSecrets(await oauthSignature(way, signed, secrets), given)) return secrets;
  }
  throw refusal('invalid_signature', 'Invalid signature value.');
}

function isSignatureMethod(text: string | undefined): text is OAuthSignatureMethod {
  return text === 'HMAC-SHA1' || text === 'PLAINTEXT';
}

/** RFC 5849, 3.5.1. Returns undefined if the header has another scheme. */
function parseHeader(header: string | undefined): Parameters | undefined {
  const [, list] = /^oauth +(.*)$/is.exec(header ?? '') ?? [];
  if (list === undefined) return undefined;
  const pairs = list.split(',').flatMap((part): [string, string][] => {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*"([^"]*)"\s*$/.exec(part) ?? [];
    return name === undefined || value === undefined ? [] : [[decoded(name), decoded(value)]];
  });
  return Object.fromEntries(pairs);
}

function parametersOfQuery(search: string): Parameters | undefined {
  return search.includes('oauth_signature=') ? Object.fromEntries(new URLSearchParams(search)) : undefined;
}

function withoutSignature(url: string): string {
  const address = new URL(url);
  address.searchParams.delete('oauth_signature');
  return address.href;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function refusal(word: string, reason: string): CustomCodeError {
  return new CustomCodeError('bad_request', word, reason);
}
