/**
 * The passwords verified lately, so that a client that sends its own with each request waits for one hash only. The cache holds digests with
 * a salt of this process: an attacker who finds them in a memory dump still has to guess. An entry is valid until the password or account changes,
 * until the settings no longer permit the iterations of its hash, or until `auth_cache_size` other entries were used since. Users count separately
 * from server admins: an admin gets in by the cache while another client guesses from the same address, however many users there are.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import type { RandomBytes } from '../../base/shared/clock.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { PasswordHash } from '../passwords/password-hash.ts';
import { RecentEntries } from '../recent-entries.ts';
import { cacheSize, iterationLimits } from '../settings.ts';
import type { Account } from './account.ts';

const SALT_BYTES = 16;

export class VerifiedPasswordCache {
  readonly #encoder = new TextEncoder();
  readonly #salt: Uint8Array;
  readonly #ofKind: Readonly<Record<Account['kind'], RecentEntries<string, PasswordHash>>>;

  constructor(config: ConfigStore, random: RandomBytes) {
    this.#salt = random(new Uint8Array(SALT_BYTES));
    const most = () => cacheSize(config);
    this.#ofKind = { admin: new RecentEntries(most), user: new RecentEntries(most) };
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
  const { least, most } = iterationLimits(config);
  return hash.scheme === 'simple' || (hash.iterations >= least && hash.iterations <= most);
}
