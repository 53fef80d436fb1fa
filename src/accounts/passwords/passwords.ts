/**
 * Makes and checks password hashes. A failed check takes as long as hashing a password with the present settings, whether or not a hash is
 * stored, so that it does not reveal which names exist. Few checks run at a time, which leaves processors free.
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { randomHex } from '../../base/shared/bytes.ts';
import type { RandomBytes } from '../../base/shared/clock.ts';
import { areEqualSecrets } from '../../base/shared/constant-time.ts';
import type { Config } from '../../base/system/contract.ts';
import { hashSettings, iterationLimits } from '../settings.ts';
import { derivePbkdf2, deriveSimple } from './key-derivation.ts';
import { PasswordQueue } from './password-queue.ts';
import type { PasswordHash } from './stored-password.ts';

const QUEUE = { atOnce: 2, mostWaiting: 500, mostOfOne: 100 } as const;
const SALT_BYTES = 16;
/** Salt of computations that only take time. */
const NO_SALT = '00000000000000000000000000000000';

export class Passwords {
  readonly #config: Config;
  readonly #random: RandomBytes;
  readonly #queue = new PasswordQueue(QUEUE);
  /** The highest known iteration count of a stored hash: a failed check takes at least as many. */
  #mostIterations = 0;
  #onMore: (iterations: number) => void = () => undefined;

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

  /** Failed checks take at least as many iterations from now on. */
  noteStored(hash: PasswordHash | undefined): void {
    if (hash?.scheme === 'pbkdf2' && !this.#isTooSlow(hash)) this.noteIterations(hash.iterations);
  }

  noteIterations(iterations: number): void {
    if (iterations <= this.#mostIterations) return;
    this.#mostIterations = iterations;
    this.#onMore(iterations);
  }

  /** The highest iteration count noted. */
  get mostIterations(): number {
    return this.#mostIterations;
  }

  /** Calls the listener each time that a hash with more iterations than before is noted. */
  onMoreIterations(listener: (iterations: number) => void): void {
    this.#onMore = listener;
  }

  /**
   * Whether the password matches the stored hash; undefined stands for a name that does not exist, or has no password. No password matches
   * a hash with more iterations than the settings permit: it is not computed. Fails with `forbidden` if the password is right and its hash has
   * fewer than they permit, and as the queue does. `asker`: see `PasswordQueue`.
   */
  async matches(password: string, stored: PasswordHash | undefined, asker = ''): Promise<boolean> {
    return this.#queue.run('check', asker, async () => {
      const computed = this.#isTooSlow(stored) ? undefined : stored;
      const isRight = computed !== undefined && (await this.#matchesStored(password, computed));
      if (!isRight) await this.#fillUp(password, computed);
      return isRight;
    });
  }

  /** Whether a password that was right should be hashed and stored again. */
  isOutdated(stored: PasswordHash): boolean {
    return stored.scheme === 'simple';
  }

  /** A client that tries a password for such a hash is not told: that would reveal that the name exists. */
  #isTooSlow(stored: PasswordHash | undefined): boolean {
    return stored?.scheme === 'pbkdf2' && stored.iterations > iterationLimits(this.#config).most;
  }

  async #matchesStored(password: string, stored: PasswordHash): Promise<boolean> {
    if (stored.scheme === 'simple') return areEqualSecrets(stored.key, await deriveSimple(password, stored.salt));
    const { prf, salt, iterations, key } = stored;
    const { least } = iterationLimits(this.#config);
    this.noteStored(stored);
    const derived = await derivePbkdf2(password, { prf, salt, iterations, bytes: key.length / 2 });
    if (!areEqualSecrets(key, derived)) return false;
    // A client that does not know the password does not learn that the name exists.
    if (iterations < least) throw new DatabaseError('forbidden', 'Iteration count is too low for this server');
    return true;
  }

  /** Does the rest of the work that a check takes. */
  async #fillUp(password: string, stored: PasswordHash | undefined): Promise<void> {
    const { prf, iterations } = hashSettings(this.#config);
    const done = stored?.scheme === 'pbkdf2' ? stored.iterations : 0;
    const missing = Math.max(iterations, this.#mostIterations) - done;
    if (missing > 0) await derivePbkdf2(password, { prf, salt: NO_SALT, iterations: missing });
  }
}
