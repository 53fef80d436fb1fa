import { describe, expect, test } from 'vitest';
import { PasswordQueue, type PasswordWork } from '../../../src/accounts/passwords/password-queue.ts';

/** Work that ends when it is told to, in the order in which it began. */
class Jobs {
  readonly queue = new PasswordQueue({ atOnce: 2, mostWaiting: 6, mostOfOne: 3 });
  readonly begun: string[] = [];
  readonly #ends: (() => void)[] = [];

  ask(kind: PasswordWork, asker: string, name = `${asker} ${kind}`): Promise<void> {
    return this.queue.run(kind, asker, () => {
      this.begun.push(name);
      return new Promise<void>((resolve) => this.#ends.push(resolve));
    });
  }

  /** Ends the first of those under way, and all that follow it. */
  async endAll(): Promise<void> {
    for (let end = this.#ends.shift(); end !== undefined; end = this.#ends.shift()) {
      end();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

describe('passwords', () => {
  test('are computed two at a time, and checks and hashes alternate', async () => {
    const jobs = new Jobs();
    const all = ['hash', 'hash', 'hash', 'hash', 'check', 'check'].map((kind, n) =>
      jobs.ask(kind === 'hash' ? 'hash' : 'check', `${n}`, `${kind} ${n}`),
    );
    expect(jobs.begun).toEqual(['hash 0', 'hash 1']);
    await jobs.endAll();
    await Promise.all(all);
    expect(jobs.begun).toEqual(['hash 0', 'hash 1', 'check 4', 'hash 2', 'check 5', 'hash 3']);
  });

  test("of a client with many requests don't delay other clients behind all of them", async () => {
    const jobs = new Jobs();
    const all = ['many', 'many', 'many', 'many', 'many', 'one', 'two'].map((asker) => jobs.ask('check', asker, asker));
    await jobs.endAll();
    await Promise.all(all);
    expect(jobs.begun).toEqual(['many', 'many', 'many', 'one', 'two', 'many', 'many']);
  });

  test("of a client with too many requests are refused, and other clients' are not", async () => {
    const jobs = new Jobs();
    const all = Array.from({ length: 5 }, () => jobs.ask('hash', 'many'));
    await expect(jobs.ask('hash', 'many')).rejects.toMatchObject({ code: 'too_many_requests', retryAfterS: 5 });
    all.push(jobs.ask('hash', 'one'), jobs.ask('check', 'many'));
    await jobs.endAll();
    await Promise.all(all);
  });

  test('are refused when too many wait, and those of the other kind are not', async () => {
    const jobs = new Jobs();
    const all = Array.from({ length: 8 }, (_, n) => jobs.ask('hash', `${n}`));
    await expect(jobs.ask('hash', 'one more')).rejects.toMatchObject({ code: 'too_busy' });
    all.push(jobs.ask('check', 'one'));
    await jobs.endAll();
    await Promise.all(all);
    // All places are free again.
    const [first, second] = [jobs.ask('hash', 'a', 'first'), jobs.ask('hash', 'a', 'second')];
    expect(jobs.begun.slice(-2)).toEqual(['first', 'second']);
    await jobs.endAll();
    await Promise.all([first, second]);
  });
});
