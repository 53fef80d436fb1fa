/**
 * The passwords that were right lately, so that a client that sends its own with each request waits for one hash only. Kept are digests with
 * a salt of this process: whoever finds them in a dump of its memory still has to guess. One counts until the password or the account changes, until
 * the settings do not permit the iterations of its hash any more, or so many others were used since as `auth_cache_size` says. Users count apart
 * from server admins: an admin gets in by it while somebody else guesses from the same address, however many users there are.
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

  /** What name and password are known by here. Computed in this turn: a task of WebCrypto's takes as long as answering a whole GET. */
  digest(name: string, password: string): string {
    const bytes = this.#encoder.encode(`${name.length}:${name}${password}`);
    return String.fromCharCode(...sha256.create().update(this.#salt).update(bytes).digest());
  }

  /** Whether the password of that digest was right for the hash that the account has now. */
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
