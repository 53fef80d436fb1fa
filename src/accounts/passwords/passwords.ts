/**
 * Makes and checks password hashes. A failed check takes as long as hashing a password with the present settings, whether or not a hash is
 * stored, so that it does not reveal which names exist. Few checks run at a time, which leaves processors free.
 *
 * Hashes of other servers may have many more iterations than this one makes (`IterationLimits`). Checks of these, and what other failed checks do to
 * take as long, have a queue of their own, one at a time: right passwords for other hashes never wait for them.
 */
import { randomHex } from '../../base/shared/bytes.ts';
import type { RandomBytes } from '../../base/shared/clock.ts';
import { areEqualSecrets } from '../../base/shared/constant-time.ts';
import type { Config } from '../../base/system/contract.ts';
import {
  type HashSettings,
  hashSettings,
  type IterationLimits,
  iterationLimits,
  type Prf,
  upgradesHashes,
} from '../settings.ts';
import { derivePbkdf2, deriveSimple } from './key-derivation.ts';
import { PasswordQueue } from './password-queue.ts';
import type { PasswordHash } from './stored-password.ts';

const QUEUE = { atOnce: 2, mostWaiting: 500, mostOfOne: 100 } as const;
const SLOW_QUEUE = { atOnce: 1, mostWaiting: 200, mostOfOne: 20 } as const;
const SALT_BYTES = 16;
/** Salt of computations that only take time. */
const NO_SALT = '00000000000000000000000000000000';

/** How long an iteration takes compared to one with SHA-1. */
const WEIGHTS: Readonly<Record<Prf, number>> = { sha: 1, sha224: 4, sha256: 1, sha384: 3, sha512: 4 };

export class Passwords {
  readonly #config: Config;
  readonly #random: RandomBytes;
  readonly #queue = new PasswordQueue(QUEUE);
  readonly #slowQueue = new PasswordQueue(SLOW_QUEUE);
  /** What the slowest known stored hash takes: a failed check takes at least as long. */
  #slowest: HashSettings = { prf: 'sha', iterations: 0 };
  #onSlower: (slowest: HashSettings) => void = () => undefined;

  constructor(config: Config, random: RandomBytes) {
    this.#config = config;
    this.#random = random;
  }

  /** Hashes with the present settings. `asker`: see `PasswordQueue`. Fails as the queue does. */
  async hash(password: string, asker = ''): Promise<PasswordHash> {
    const { prf, iterations } = hashSettings(this.#config);
    const salt = randomHex(this.#random, SALT_BYTES);
    const key = await this.#queue.run('hash', asker, () => derivePbkdf2(password, { prf, salt, iterations }));
    return { scheme: 'pbkdf2', prf, key, salt, iterations };
  }

  /** Returns a hash like those of `hash`, without computing one: no one can log in with it. */
  placeholder(): PasswordHash {
    const { prf, iterations } = hashSettings(this.#config);
    return { scheme: 'pbkdf2', prf, key: NO_SALT, salt: NO_SALT, iterations };
  }

  /** The function of new hashes. */
  get prf(): Prf {
    return hashSettings(this.#config).prf;
  }

  /** The permitted iterations. */
  get limits(): IterationLimits {
    return iterationLimits(this.#config);
  }

  /** Failed checks take at least as long from now on. */
  noteStored(hash: PasswordHash | undefined): void {
    if (hash?.scheme === 'pbkdf2' && !this.#isTooSlow(hash)) this.noteSlowest(hash);
  }

  noteSlowest({ prf, iterations }: HashSettings): void {
    if (costOf({ prf, iterations }) <= costOf(this.#slowest)) return;
    this.#slowest = { prf, iterations };
    this.#onSlower(this.#slowest);
  }

  /** What the slowest noted hash takes. */
  get slowest(): HashSettings {
    return this.#slowest;
  }

  /** Calls the listener each time that a slower hash than before is noted. */
  onSlower(listener: (slowest: HashSettings) => void): void {
    this.#onSlower = listener;
  }

  /**
   * Whether the password matches the stored hash; undefined stands for a name that does not exist, or has no password. No password matches
   * a hash with more iterations than the settings let be checked: it is not computed. Fails as the queues do. `asker`: see `PasswordQueue`.
   */
  async matches(password: string, stored: PasswordHash | undefined, asker = ''): Promise<boolean> {
    const computed = this.#isTooSlow(stored) ? undefined : stored;
    this.noteStored(computed);
    const usual = costOf(hashSettings(this.#config));
    const own = computed?.scheme === 'pbkdf2' ? costOf(computed) : 0;
    const slowest = this.#slowestCost();
    const mostQuick = this.limits.most * WEIGHTS[hashSettings(this.#config).prf];
    const isSlow = own > mostQuick;
    const isRight = await this.#queue.run('check', asker, async () => {
      if (!isSlow && (await this.#matchesStored(password, computed))) return true;
      // A check in the other queue comes after the same work in this one, whatever is stored.
      if (isSlow) await this.#spend(password, usual);
      else await this.#spend(password, (slowest > mostQuick ? usual : Math.max(usual, slowest)) - own);
      return false;
    });
    if (isRight || slowest <= mostQuick) return isRight;
    return this.#slowQueue.run('check', asker, async () => {
      if (isSlow && (await this.#matchesStored(password, computed))) return true;
      await this.#spend(password, slowest - (isSlow ? own : Math.max(0, own - usual)));
      return false;
    });
  }

  /** Whether a password that was right should be hashed and stored again: its hash is weaker than this server permits for its own. */
  isOutdated(stored: PasswordHash): boolean {
    if (!upgradesHashes(this.#config)) return false;
    return stored.scheme === 'simple' || stored.iterations < this.limits.least;
  }

  /** A client that tries a password for such a hash is not told: that would reveal that the name exists. */
  #isTooSlow(stored: PasswordHash | undefined): boolean {
    return stored?.scheme === 'pbkdf2' && stored.iterations > this.limits.mostChecked;
  }

  async #matchesStored(password: string, stored: PasswordHash | undefined): Promise<boolean> {
    if (stored === undefined) return false;
    if (stored.scheme === 'simple') return areEqualSecrets(stored.key, await deriveSimple(password, stored.salt));
    const { prf, salt, iterations, key } = stored;
    return areEqualSecrets(key, await derivePbkdf2(password, { prf, salt, iterations, bytes: key.length / 2 }));
  }

  #slowestCost(): number {
    const { prf, iterations } = this.#slowest;
    return costOf({ prf, iterations: Math.min(iterations, this.limits.mostChecked) });
  }

  /** Takes as long as a hash of that cost. */
  async #spend(password: string, cost: number): Promise<void> {
    const usual = hashSettings(this.#config);
    const { prf } = costOf(this.#slowest) > costOf(usual) ? this.#slowest : usual;
    // SHA-224 would hold this thread.
    const native = prf === 'sha224' ? 'sha256' : prf;
    const iterations = Math.ceil(cost / WEIGHTS[native]);
    if (iterations > 0) await derivePbkdf2(password, { prf: native, salt: NO_SALT, iterations });
  }
}

/** In iterations of SHA-1. */
function costOf({ prf, iterations }: HashSettings): number {
  return iterations * WEIGHTS[prf];
}
