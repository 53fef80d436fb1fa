/** Bearer tokens that an app provides, as all replications share them. */
import { beforeEach, describe, expect, test } from 'vitest';
import type { ProvidedToken, TokenSource, TokenSourceChange } from '../../../src/replication/contract.ts';
import { CredentialsAwaited, failureText, pauseOf } from '../../../src/replication/failure.ts';
import { ProvidedTokens } from '../../../src/replication/provided-tokens.ts';

const URL = 'https://db.test/notes';
const OTHER = 'https://db.test.evil/notes';

/** Answers when the test says so. */
class FakeSource implements TokenSource {
  readonly asked: [url: string, refused: string | undefined][] = [];
  readonly #answers: ((answer: Promise<ProvidedToken | undefined>) => void)[] = [];
  listener: (change: TokenSourceChange) => void = () => {};

  ask(url: string, refused: string | undefined): Promise<ProvidedToken | undefined> {
    this.asked.push([url, refused]);
    return new Promise((resolve) => this.#answers.push(resolve));
  }

  onChange(listener: (change: TokenSourceChange) => void): () => void {
    this.listener = listener;
    return () => {
      this.listener = () => {};
    };
  }

  answer(token: ProvidedToken | undefined | Error): void {
    this.#answers.shift()?.(token instanceof Error ? Promise.reject(token) : Promise.resolve(token));
  }
}

let source: FakeSource;
let tokens: ProvidedTokens;
/** Of both clocks. */
let now: number;

beforeEach(() => {
  source = new FakeSource();
  now = 1_000_000;
  tokens = new ProvidedTokens(source, { now: () => now, monotonic: () => now });
});

async function first(token: ProvidedToken): Promise<void> {
  const asked = tokens.tokenFor(URL);
  source.answer(token);
  expect(await asked).toBe(token.token);
}

describe('a token', () => {
  test('is asked for once, by however many requests at the same time', async () => {
    const asked = [tokens.tokenFor(URL), tokens.tokenFor(URL), tokens.tokenFor(URL)];
    source.answer({ token: 'one' });
    expect(await Promise.all(asked)).toEqual(['one', 'one', 'one']);
    expect(await tokens.tokenFor(URL)).toBe('one');
    expect(source.asked).toEqual([[URL, undefined]]);
  });

  test('that expires is not used any more if its provider is removed while the next one is asked for', async () => {
    await first({ token: 'one', expires: now + 600_000 });
    now += 590_000;
    const asked = [tokens.tokenFor(URL), tokens.tokenFor(URL)];
    source.listener({ type: 'removed', prefix: 'https://db.test/' });
    source.answer(undefined);
    for (const each of asked) await expect(each).rejects.toBeInstanceOf(CredentialsAwaited);
  });

  test('that is not there has a reason that can be stored', async () => {
    const asked = tokens.tokenFor(URL);
    source.answer(new Error('no \ud83d'));
    await expect(asked).rejects.toThrow(`the page that provides bearer tokens for ${URL} failed: no \ufffd`);
  });

  test('is asked for again a minute before it expires', async () => {
    await first({ token: 'one', expires: now + 600_000 });
    now += 539_999;
    expect(await tokens.tokenFor(URL)).toBe('one');
    now += 1;
    await first({ token: 'two', expires: now + 600_000 });
    expect(source.asked).toHaveLength(2);
  });

  test('is asked for again at half of a short time', async () => {
    await first({ token: 'one', expires: now + 80_000 });
    now += 39_999;
    expect(await tokens.tokenFor(URL)).toBe('one');
    now += 1;
    await first({ token: 'two' });
  });

  test('expires as a JWT says, if nothing else is said', async () => {
    const payload = btoa(JSON.stringify({ sub: 'ana', exp: (now + 600_000) / 1_000 })).replace(/=+$/, '');
    await first({ token: `eyJhbGciOiJIUzI1NiJ9.${payload}.c2ln` });
    now += 539_999;
    await tokens.tokenFor(URL);
    now += 1;
    await first({ token: 'not.a.jwt' });
    now += 1e9;
    expect(await tokens.tokenFor(URL)).toBe('not.a.jwt');
    expect(source.asked).toHaveLength(2);
  });

  test('that seems to have expired is used, and the app is asked every ten seconds at most', async () => {
    await first({ token: 'one', expires: now - 86_400_000 });
    now += 9_999;
    expect(await tokens.tokenFor(URL)).toBe('one');
    now += 1;
    await first({ token: 'two' });
  });

  test('is used on if the app has no other when it should be renewed', async () => {
    await first({ token: 'one', expires: now + 20_000 });
    now += 10_000;
    const asked = tokens.tokenFor(URL);
    source.answer(undefined);
    expect(await asked).toBe('one');
    expect(await tokens.tokenFor(URL)).toBe('one');
    expect(source.asked).toHaveLength(2);
  });

  test('that is refused is replaced, once for all requests that were sent with it', async () => {
    await first({ token: 'one' });
    const renewed = [tokens.renew(URL, 'one'), tokens.renew(URL, 'one')];
    source.answer({ token: 'two' });
    expect(await Promise.all(renewed)).toEqual([true, true]);
    // It was sent before the renewal, and answered later.
    expect(await tokens.renew(URL, 'one')).toBe(true);
    expect(source.asked).toEqual([
      [URL, undefined],
      [URL, 'one'],
    ]);
  });

  test('that is refused, and provided again, does not help', async () => {
    await first({ token: 'one' });
    const renewed = tokens.renew(URL, 'one');
    source.answer({ token: 'one' });
    expect(await renewed).toBe(false);
  });

  test('is forgotten when the user logs out', async () => {
    await first({ token: 'one' });
    source.listener({ type: 'removed', prefix: 'https://db.test.evil/' });
    expect(await tokens.tokenFor(URL)).toBe('one');
    source.listener({ type: 'removed', prefix: 'https://db.test/' });
    await first({ token: 'two' });
  });
});

describe('without a token', () => {
  test('a replication waits, and learns why', async () => {
    const asked = tokens.tokenFor(URL);
    source.answer(undefined);
    await expect(asked).rejects.toMatchObject({
      name: 'CredentialsAwaited',
      code: 'unauthorized',
      url: URL,
      reason: `no open page provides a bearer token for ${URL}. Open the app and log in there; it calls settee.credentials().`,
    });
    const again = tokens.tokenFor(URL);
    source.answer(new Error('/api/token answered 502'));
    await expect(again).rejects.toThrow(CredentialsAwaited);
    await expect(again).rejects.toThrow(
      `the page that provides bearer tokens for ${URL} failed: /api/token answered 502`,
    );
  });

  test('because the app has no network, a replication is offline', async () => {
    const asked = tokens.tokenFor(URL);
    source.answer(Object.assign(new Error('Failed to fetch'), { isOffline: true }));
    const thrown = await asked.catch((failure: unknown) => failure);
    expect(thrown).toBeInstanceOf(CredentialsAwaited);
    expect(pauseOf(thrown)).toBe('paused');
    expect(failureText(thrown)).toMatch(/^offline: .*Failed to fetch$/);
    expect(pauseOf(new CredentialsAwaited(URL, 'none'))).toBe('unauthorized');
  });

  test('it goes on at once if one was added while it was asked for, and is asked for once more only', async () => {
    const failure = async () => {
      const asked = tokens.tokenFor(URL).catch((thrown: unknown) => thrown);
      source.answer(undefined);
      const thrown = await asked;
      return thrown instanceof CredentialsAwaited ? thrown : expect.fail('there should be no token');
    };
    const first = failure();
    source.listener({ type: 'added', prefix: 'https://db.test/' });
    const awaited = await first;
    await new Promise<void>((resolve) => tokens.next(awaited, resolve));
    const woken: string[] = [];
    tokens.next(await failure(), () => woken.push('again'));
    await new Promise((resolve) => setTimeout(resolve, 0));
    expect(woken).toEqual([]);
  });

  test('it goes on when one may be provided for its database, once', () => {
    const woken: string[] = [];
    tokens.next({ url: URL }, () => woken.push('notes'));
    tokens.next({ url: OTHER }, () => woken.push('other'));
    tokens.next({ url: `${URL}-2` }, () => woken.push('ended'))();
    source.listener({ type: 'added', prefix: 'https://db.test/notes' });
    source.listener({ type: 'added', prefix: 'https://db.test/notes' });
    expect(woken).toEqual(['notes']);
    source.listener({ type: 'added', prefix: undefined });
    expect(woken).toEqual(['notes', 'other']);
  });
});
