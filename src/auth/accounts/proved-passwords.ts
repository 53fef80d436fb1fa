/**
 * The passwords that were right lately, so that a client that sends its own with each request waits for one hash only. Kept are digests with
 * a salt of this process: whoever finds them in a dump of its memory still has to guess. One counts until the password, the account or a setting of
 * `svc_httpd_auth` changes, or so many others were used since as `auth_cache_size` says.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import type { RandomBytes } from '../../shared/clock.ts';
import type { ConfigStore } from '../../system/contract.ts';
import type { PasswordHash } from '../passwords/password-hash.ts';
import { RecentEntries } from '../recent-entries.ts';
import { cacheSize } from '../settings.ts';
import type { Account } from './account.ts';

const SALT_BYTES = 16;

export class ProvedPasswords {
  readonly #encoder = new TextEncoder();
  readonly #salt: Uint8Array;
  readonly #hashes: RecentEntries<string, PasswordHash>;

  constructor(config: ConfigStore, random: RandomBytes) {
    this.#salt = random(new Uint8Array(SALT_BYTES));
    this.#hashes = new RecentEntries(() => cacheSize(config));
    // How many iterations a hash must have, and may have, is among them.
    config.onChange(({ section }) => {
      if (section === 'svc_httpd_auth') this.#hashes.clear();
    });
  }

  /** What name and password are known by here. Computed in this turn: a task of WebCrypto's takes as long as answering a whole GET. */
  digest(name: string, password: string): string {
    const bytes = this.#encoder.encode(`${name.length}:${name}${password}`);
    return String.fromCharCode(...sha256.create().update(this.#salt).update(bytes).digest());
  }

  /** Whether the password of that digest was right for the hash that the account has now. */
  has(digest: string, { hash }: Account): boolean {
    const proved = this.#hashes.get(digest);
    return proved !== undefined && proved.key === hash?.key && proved.salt === hash.salt;
  }

  add(digest: string, { hash }: Account): void {
    if (hash !== undefined) this.#hashes.set(digest, hash);
  }
}
