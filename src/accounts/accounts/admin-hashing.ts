/** Plain passwords of server admins do not stay in the configuration: they are replaced by their hashes (docs/http/accounts.md#server-admins). */
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
  /** Undefined while nothing is left to do. */
  #work: Promise<void> | undefined;

  /** Begins at once with those that are there, and goes on with those that come. */
  constructor(config: ConfigStore, passwords: Passwords, log: Log) {
    this.#config = config;
    this.#passwords = passwords;
    this.#log = log;
    for (const [name, text] of Object.entries(config.section(SECTION))) this.#note(name, text);
    config.onChange(({ section, key, value }) => {
      if (section === SECTION && value !== undefined) this.#note(key, value);
    });
  }

  /** Resolves when what came before is hashed; undefined where it is. */
  get settled(): MaybePromise<void> {
    return this.#work;
  }

  /** Keeps another hash of the same password, where the text is still the one that it was made for. */
  async replace(name: string, before: string, hash: PasswordHash): Promise<void> {
    if (this.#config.get(SECTION, name) !== before) return;
    const text = adminText(hash);
    try {
      await this.#config.set(SECTION, name, text);
    } catch (error) {
      if (!isDatabaseError(error, 'modification_not_allowed')) throw error;
      // It was given at the start, and will be so again.
      await this.#config.set(SECTION, name, text, { persist: false });
    }
  }

  /** An empty text is no password: nobody logs in by that name. */
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
