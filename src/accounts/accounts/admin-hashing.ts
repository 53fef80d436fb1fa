/** Plain passwords of server admins are replaced in the configuration by their hashes (docs/http/accounts.md#server-admins). */
import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import { adminText, hashOfAdmin, isHashedAdmin, type PasswordHash } from '../passwords/password-hash.ts';
import type { Passwords } from '../passwords/passwords.ts';

const SECTION = 'admins';

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
        `Nobody can log in as the admin ${name}: the text begins as the hash of a password does, and is none.`,
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
      this.#log.error('The password of a server admin could not be hashed; nobody can log in by that name.', error);
    }
  }
}
