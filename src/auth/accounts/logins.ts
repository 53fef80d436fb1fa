/**
 * Checks names and passwords (docs/http.md#authentication). What fails costs the same whether the name exists, and comes slower each time
 * (`failed-logins.ts`). A password that was right is remembered, by a digest under a key of this process, as long as its account stays the
 * same; so a client that sends it with each request waits for its check once.
 */
import { DatabaseError, isDatabaseError } from '../../errors/database-error.ts';
import type { Clock, RandomBytes } from '../../shared/clock.ts';
import { toHex } from '../../shared/hex.ts';
import type { ConfigStore } from '../../system/contract.ts';
import type { Counters } from '../../system/counters.ts';
import { FailedLogins } from '../passwords/failed-logins.ts';
import { requireSubtle, type SubtleKey } from '../passwords/key-derivation.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { RecentEntries } from '../recent-entries.ts';
import { cacheSize } from '../settings.ts';
import { type Account, saltOf } from './account.ts';
import type { AccountStore } from './account-store.ts';
import type { AdminHashing } from './admin-hashing.ts';

export interface LoginParts {
  readonly config: ConfigStore;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly accounts: AccountStore;
  readonly passwords: Passwords;
  readonly admins: AdminHashing;
  readonly counters: Pick<Counters, 'authCacheHits' | 'authCacheMisses'>;
  /** Keeps the password's new hash; gives the account as it is then, or undefined where that was not possible. */
  readonly upgrade: (account: Account, password: string) => Promise<Account | undefined>;
}

const DIGEST = { name: 'HMAC', hash: 'SHA-256' } as const;

export class Logins {
  readonly #parts: LoginParts;
  readonly #failed: FailedLogins;
  /** The salts of accounts, by the digests of names and passwords that were right. */
  readonly #proved: RecentEntries<string, string>;
  /** Checks under way: who asks for the same meanwhile waits for the same. */
  readonly #checks = new Map<string, Promise<Account>>();
  #key: Promise<SubtleKey> | undefined;

  constructor(parts: LoginParts) {
    this.#parts = parts;
    this.#failed = new FailedLogins(parts.clock);
    this.#proved = new RecentEntries(() => cacheSize(parts.config));
  }

  /**
   * The account whose password that is. Fails with `unauthorized` where it is not, with `too_many_requests`, `too_busy`, and with `forbidden`
   * where the stored hash is outside of what the settings permit. `address`: see `AskingRequest`.
   */
  async logIn(name: string, password: string, address: string): Promise<Account> {
    await this.#parts.admins.settled;
    const digest = await this.#digest(name, password);
    const account = await this.#parts.accounts.find(name);
    const provedSalt = this.#proved.get(digest);
    const { authCacheHits, authCacheMisses } = this.#parts.counters;
    if (account !== undefined && provedSalt !== undefined && provedSalt === saltOf(account)) {
      authCacheHits.value += 1;
      return usable(account);
    }
    authCacheMisses.value += 1;
    const running = this.#checks.get(`${address} ${digest}`);
    if (running !== undefined) return running;
    const check = this.#check(account, { name, password, address }, digest);
    this.#checks.set(`${address} ${digest}`, check);
    return check.finally(() => this.#checks.delete(`${address} ${digest}`));
  }

  async #check(
    account: Account | undefined,
    { name, password, address }: { readonly name: string; readonly password: string; readonly address: string },
    digest: string,
  ): Promise<Account> {
    const attempt = this.#failed.begin(name, address);
    let isRight: boolean;
    try {
      isRight = await this.#parts.passwords.matches(password, account?.hash);
    } catch (error) {
      if (isDatabaseError(error, 'too_busy')) attempt.withdraw();
      throw error;
    }
    if (account === undefined || !isRight) throw wrongPassword();
    attempt.succeed();
    const isOutdated = account.hash !== undefined && this.#parts.passwords.isOutdated(account.hash);
    const current = isOutdated ? ((await this.#parts.upgrade(account, password)) ?? account) : account;
    this.#proved.set(digest, saltOf(current));
    return usable(current);
  }

  async #digest(name: string, password: string): Promise<string> {
    this.#key ??= requireSubtle().importKey('raw', this.#parts.random(new Uint8Array(32)), DIGEST, false, ['sign']);
    const bytes = new TextEncoder().encode(`${name.length}:${name}${password}`);
    return toHex(new Uint8Array(await requireSubtle().sign('HMAC', await this.#key, bytes)));
  }
}

export function wrongPassword(): DatabaseError {
  return new DatabaseError('unauthorized', 'Name or password is incorrect.');
}

/** Only who knows the password learns that there are conflicts. */
export function usable(account: Account): Account {
  if (!account.hasConflicts) return account;
  const reason = 'User document conflicts must be resolved before the document is used for authentication purposes.';
  throw new DatabaseError('unauthorized', reason);
}
