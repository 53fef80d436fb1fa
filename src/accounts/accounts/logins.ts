/**
 * Checks names and passwords (docs/http/accounts.md#authentication). A failure costs the same whether or not the name exists, and takes longer each
 * time (`failed-logins.ts`).
 */

import { sha256 } from '@noble/hashes/sha2.js';
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { Counters } from '../../base/system/counters.ts';
import { networkOf } from '../../base/system/network-of.ts';
import { LruCache } from '../lru-cache.ts';
import { FailedLogins } from '../passwords/failed-logins.ts';
import { OneTimeCodes } from '../passwords/one-time-codes.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { PasswordHash } from '../passwords/stored-password.ts';
import { cacheSize, iterationLimits } from '../settings.ts';
import type { Account, AccountStore } from './account-store.ts';
import type { AdminHashing } from './password-hashing.ts';
import type { StoredIterations } from './stored-iterations.ts';

const SALT_BYTES = 16;

export interface LoginOptions {
  readonly config: ConfigStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly accounts: AccountStore;
  readonly passwords: Passwords;
  readonly admins: AdminHashing;
  readonly iterations: StoredIterations;
  readonly counters: Pick<Counters, 'authCacheHits' | 'authCacheMisses'>;
  /** Stores the password's new hash; returns the new account, or undefined if that was not possible. */
  readonly upgrade: (account: Account, password: string) => Promise<Account | undefined>;
}

interface Attempt {
  readonly name: string;
  readonly password: string;
  readonly address: string;
  /** Of the user's authenticator; undefined where none can be sent. */
  readonly code: string | undefined;
}

export class Logins {
  readonly #options: LoginOptions;
  readonly #failed: FailedLogins;
  readonly #proved: VerifiedPasswordCache;
  readonly #codes: OneTimeCodes;
  /** Checks under way: concurrent callers with the same credentials wait for the same check. */
  readonly #checks = new Map<string, Promise<Account>>();

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#failed = new FailedLogins(options.clock);
    this.#codes = new OneTimeCodes(options.clock);
    this.#proved = new VerifiedPasswordCache(options.config, options.random);
  }

  /**
   * Returns the account with that name and password: synchronously if the password was verified lately. Fails with `unauthorized` if it is wrong,
   * and with `too_many_requests` and `too_busy`. `address`: see `AskingRequest`. `code`: for accounts that need one; without it they are refused.
   */
  logIn(name: string, password: string, address: string, code?: string): MaybePromise<Account> {
    return whenReady(this.#options.admins.settled, () => {
      const digest = this.#proved.digest(name, password);
      return whenReady(this.#options.accounts.find(name), (account) => {
        const attempt = { name, password, address, code };
        // Each code counts once: the same credentials are checked again.
        if (account?.totp !== undefined) return this.#check(account, attempt, digest);
        const { authCacheHits, authCacheMisses } = this.#options.counters;
        if (account !== undefined && this.#proved.has(digest, account)) {
          authCacheHits.value += 1;
          return usable(account);
        }
        authCacheMisses.value += 1;
        return this.#checkOnce(account, attempt, digest);
      });
    });
  }

  #checkOnce(account: Account | undefined, attempt: Attempt, digest: string): Promise<Account> {
    const key = `${attempt.address} ${digest}`;
    const running = this.#checks.get(key);
    if (running !== undefined) return running;
    const check = this.#check(account, attempt, digest);
    this.#checks.set(key, check);
    return check.finally(() => this.#checks.delete(key));
  }

  async #check(account: Account | undefined, given: Attempt, digest: string): Promise<Account> {
    const { name, password, address, code } = given;
    const attempt = this.#failed.begin(name, address);
    let isRight: boolean;
    try {
      await this.#options.iterations.known();
      isRight = await this.#options.passwords.matches(password, account?.hash, networkOf(address));
    } catch (error) {
      if (isDatabaseError(error, 'too_busy') || isDatabaseError(error, 'too_many_requests')) attempt.withdraw();
      throw error;
    }
    if (account === undefined || !isRight || !(await this.#isCodeRight(account, code))) throw wrongPassword();
    attempt.succeed();
    const isOutdated = account.hash !== undefined && this.#options.passwords.isOutdated(account.hash);
    const current = isOutdated ? ((await this.#options.upgrade(account, password)) ?? account) : account;
    if (current.totp === undefined) this.#proved.add(digest, current);
    return usable(current);
  }

  /** Whether the account needs no code, or this is one that counts. */
  async #isCodeRight({ name, totp }: Account, code: string | undefined): Promise<boolean> {
    if (totp === undefined) return true;
    return totp !== 'unreadable' && code !== undefined && this.#codes.take(name, totp, code);
  }
}

export function wrongPassword(): DatabaseError {
  return new DatabaseError('unauthorized', 'Name or password is incorrect.');
}

/** Only a client that knows the password learns that there are conflicts. */
export function usable(account: Account): Account {
  if (!account.hasConflicts) return account;
  const reason = 'User document conflicts must be resolved before the document is used for authentication purposes.';
  throw new DatabaseError('unauthorized', reason);
}

/**
 * The passwords verified lately, so that a client that sends its own with each request waits for one hash only. The cache holds digests with
 * a salt of this process: an attacker who finds them in a memory dump still has to guess. An entry is valid until the password or account changes,
 * until the settings no longer let its hash be checked, or until `auth_cache_size` other entries were used since. Users count separately
 * from server admins: an admin gets in by the cache while another client guesses from the same address, however many users there are.
 */
class VerifiedPasswordCache {
  readonly #encoder = new TextEncoder();
  readonly #salt: Uint8Array;
  readonly #ofKind: Readonly<Record<Account['kind'], LruCache<string, PasswordHash>>>;

  constructor(config: ConfigStore, random: RandomBytes) {
    this.#salt = random(new Uint8Array(SALT_BYTES));
    const most = () => cacheSize(config);
    this.#ofKind = { admin: new LruCache(most), user: new LruCache(most) };
    config.onChange(({ section }) => {
      if (section !== 'svc_httpd_auth') return;
      for (const entries of Object.values(this.#ofKind)) entries.keepWhere((hash) => isPermitted(config, hash));
    });
  }

  /** Returns the cache key of name and password. Computed synchronously: a WebCrypto task takes as long as answering a whole GET. */
  digest(name: string, password: string): string {
    const bytes = this.#encoder.encode(`${name.length}:${name}${password}`);
    return String.fromCharCode(...sha256.create().update(this.#salt).update(bytes).digest());
  }

  /** Whether the password of that digest matched the account's present hash. */
  has(digest: string, { kind, hash }: Account): boolean {
    const proved = this.#ofKind[kind].get(digest);
    return proved !== undefined && proved.key === hash?.key && proved.salt === hash.salt;
  }

  add(digest: string, { kind, hash }: Account): void {
    if (hash !== undefined) this.#ofKind[kind].set(digest, hash);
  }
}

function isPermitted(config: ConfigStore, hash: PasswordHash): boolean {
  return hash.scheme === 'simple' || hash.iterations <= iterationLimits(config).mostChecked;
}
