/**
 * Checks names and passwords (docs/http/accounts.md#authentication). A failure costs the same whether or not the name exists, and takes longer each
 * time (`failed-logins.ts`). A password that was right is cached (`verified-password-cache.ts`).
 */
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { Clock, RandomBytes } from '../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { Counters } from '../../base/system/counters.ts';
import { networkOf } from '../../base/system/network-of.ts';
import { FailedLogins } from '../passwords/failed-logins.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { Account } from './account.ts';
import type { AccountStore } from './account-store.ts';
import type { AdminHashing } from './admin-hashing.ts';
import type { StoredIterations } from './stored-iterations.ts';
import { VerifiedPasswordCache } from './verified-password-cache.ts';

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
}

export class Logins {
  readonly #options: LoginOptions;
  readonly #failed: FailedLogins;
  readonly #proved: VerifiedPasswordCache;
  /** Checks under way: concurrent callers with the same credentials wait for the same check. */
  readonly #checks = new Map<string, Promise<Account>>();

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#failed = new FailedLogins(options.clock);
    this.#proved = new VerifiedPasswordCache(options.config, options.random);
  }

  /**
   * Returns the account with that name and password: synchronously if the password was verified lately. Fails with `unauthorized` if it is wrong,
   * with `too_many_requests`, `too_busy`, and with `forbidden` if the stored hash is outside the limits of the settings. `address`: see
   * `AskingRequest`.
   */
  logIn(name: string, password: string, address: string): MaybePromise<Account> {
    return whenReady(this.#options.admins.settled, () => {
      const digest = this.#proved.digest(name, password);
      return whenReady(this.#options.accounts.find(name), (account) => {
        const { authCacheHits, authCacheMisses } = this.#options.counters;
        if (account !== undefined && this.#proved.has(digest, account)) {
          authCacheHits.value += 1;
          return usable(account);
        }
        authCacheMisses.value += 1;
        return this.#checkOnce(account, { name, password, address }, digest);
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

  async #check(account: Account | undefined, { name, password, address }: Attempt, digest: string): Promise<Account> {
    const attempt = this.#failed.begin(name, address);
    let isRight: boolean;
    try {
      await this.#options.iterations.known();
      isRight = await this.#options.passwords.matches(password, account?.hash, networkOf(address));
    } catch (error) {
      if (isDatabaseError(error, 'too_busy') || isDatabaseError(error, 'too_many_requests')) attempt.withdraw();
      throw error;
    }
    if (account === undefined || !isRight) throw wrongPassword();
    attempt.succeed();
    const isOutdated = account.hash !== undefined && this.#options.passwords.isOutdated(account.hash);
    const current = isOutdated ? ((await this.#options.upgrade(account, password)) ?? account) : account;
    this.#proved.add(digest, current);
    return usable(current);
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
