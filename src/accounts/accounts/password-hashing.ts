/** Replaces stored passwords: plain ones by their hashes, and hashes of an old scheme by new ones. */
import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import type { Registry } from '../../database/registry/contract.ts';
import { USER_PREFIX } from '../contract.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { adminText, hashOfAdmin, isHashedAdmin, type PasswordHash, userMembers } from '../passwords/stored-password.ts';
import { authenticationDatabase } from '../settings.ts';
import type { Account, AccountStore } from './account-store.ts';
import { bodyWith } from './user-documents.ts';

const SECTION = 'admins';

/** Replaces plain passwords of server admins in the configuration by their hashes (docs/http/accounts.md#server-admins). */
export class AdminHashing {
  readonly #config: ConfigStore;
  readonly #passwords: Passwords;
  readonly #log: Log;
  /** Undefined when nothing is left to do. */
  #work: Promise<void> | undefined;

  /** Hashes existing passwords at once, and new ones when they are set. */
  constructor(config: ConfigStore, passwords: Passwords, log: Log) {
    this.#config = config;
    this.#passwords = passwords;
    this.#log = log;
    for (const [name, text] of Object.entries(config.section(SECTION))) this.#note(name, text);
    config.onChange(({ section, key, value }) => {
      if (section === SECTION && value !== undefined) this.#note(key, value);
    });
  }

  /** Resolves when all earlier passwords are hashed; undefined if they are already. */
  get settled(): MaybePromise<void> {
    return this.#work;
  }

  /** Stores another hash of the same password, if the text has not changed since the hash was made. */
  async replace(name: string, before: string, hash: PasswordHash): Promise<void> {
    if (this.#config.get(SECTION, name) !== before) return;
    const text = adminText(hash);
    try {
      await this.#config.set(SECTION, name, text);
    } catch (error) {
      if (!isDatabaseError(error, 'modification_not_allowed')) throw error;
      // It was passed at the start, and the next start passes it again.
      await this.#config.set(SECTION, name, text, { persist: false });
    }
  }

  /** An empty text is no password: no one can log in with that name. */
  #note(name: string, text: string): void {
    if (hashOfAdmin(text) === undefined && isHashedAdmin(text)) {
      this.#log.error(
        `The admin ${name} can't log in: the stored text begins like the hash of a password, but is not one. Set the password again.`,
      );
    }
    if (text === '' || isHashedAdmin(text)) return;
    const work = (this.#work ?? Promise.resolve())
      .then(() => this.#hash(name, text))
      .then(() => {
        if (this.#work === work) this.#work = undefined;
      });
    this.#work = work;
  }

  async #hash(name: string, text: string): Promise<void> {
    try {
      await this.replace(name, text, await this.#passwords.hash(text));
    } catch (error) {
      this.#log.error(
        "The password of a server admin could not be hashed; this admin can't log in until the password is set again, or the service is started again.",
        error,
      );
    }
  }
}

interface HashUpgradeOptions {
  readonly config: ConfigStore;
  readonly databases: Registry;
  readonly accounts: AccountStore;
  readonly passwords: Passwords;
  readonly admins: AdminHashing;
  readonly log: Log;
}

/** Replaces hashes of an old scheme when the password is available: when its user logs in. */
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
      // The request goes to the process that can.
      if (isDatabaseError(error, 'not_owner')) throw error;
      this.#options.log.error(
        'The hash of a password could not be replaced by one of the current scheme; a later log-in of this user tries again.',
        error,
      );
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
