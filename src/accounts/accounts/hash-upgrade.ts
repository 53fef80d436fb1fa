/** Replaces hashes of an old scheme when the password is available: when its user logs in. */

import type { ConfigStore, Log } from '../../base/system/contract.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { USER_PREFIX } from '../contract.ts';
import { userMembers } from '../passwords/password-hash.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { authenticationDatabase } from '../settings.ts';
import { bodyWith } from '../users-database/user-passwords.ts';
import type { Account } from './account.ts';
import type { AccountStore } from './account-store.ts';
import type { AdminHashing } from './admin-hashing.ts';

export interface HashUpgradeOptions {
  readonly config: ConfigStore;
  readonly databases: Registry;
  readonly accounts: AccountStore;
  readonly passwords: Passwords;
  readonly admins: AdminHashing;
  readonly log: Log;
}

export class HashUpgrade {
  readonly #options: HashUpgradeOptions;

  constructor(options: HashUpgradeOptions) {
    this.#options = options;
  }

  /** Returns the new account; undefined if it could not be stored, which is logged: the user is logged in anyway. */
  async upgrade(account: Account, password: string): Promise<Account | undefined> {
    try {
      await (account.kind === 'admin' ? this.#ofAdmin(account, password) : this.#ofUser(account, password));
      return await this.#options.accounts.find(account.name);
    } catch (error) {
      this.#options.log.error('The hash of a password could not be replaced by one of the present scheme.', error);
      return undefined;
    }
  }

  async #ofAdmin({ name }: Account, password: string): Promise<void> {
    const { config, admins, passwords } = this.#options;
    const before = config.get('admins', name);
    if (before !== undefined) await admins.replace(name, before, await passwords.hash(password));
  }

  async #ofUser({ name, hash }: Account, password: string): Promise<void> {
    const { accounts, passwords, databases, config } = this.#options;
    const members = userMembers(await passwords.hash(password));
    const document = await accounts.readDocument(name);
    // Another password was set in the meantime.
    if (document === undefined || document.body['salt'] !== hash?.salt || document.hasConflicts) return;
    const { _attachments: attachments, ...body } = document.body;
    if (attachments !== undefined) return;
    const id = parseDocId(`${USER_PREFIX}${name}`);
    const write = { id, rev: document.rev, deleted: false, body: bodyWith(body, members) };
    const options = { newEdits: true, durability: 'relaxed' } as const;
    // On a conflict another log-in does the same, or the user changes the document.
    await databases.use(authenticationDatabase(config), (database) => database.write([write], options));
  }
}
