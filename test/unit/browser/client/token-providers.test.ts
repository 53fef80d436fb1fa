/** Pages that provide bearer tokens, and whoever owns the storage and asks them, over real channels. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PageTokens } from '../../../../src/browser/bridge/page-tokens.ts';
import type { TokenProvider } from '../../../../src/browser/client/contract.ts';
import { TokenProviders } from '../../../../src/browser/client/token-providers.ts';
import type { TokenSourceChange } from '../../../../src/replication/contract.ts';
import { patient } from '../../../support/patience.ts';

const DATABASE = 'https://db.test/notes';

let base: string;
let owner: PageTokens;
let stopListening: () => void;
let changes: TokenSourceChange[];
let pages: TokenProviders[];

beforeEach(() => {
  vi.stubGlobal('document', { baseURI: 'https://app.test/page' });
  vi.stubGlobal('navigator', { onLine: true });
  base = `https://app.test/${crypto.randomUUID()}/`;
  owner = new PageTokens({ base, name: `settee:${base}` });
  changes = [];
  pages = [];
  stopListening = owner.onChange((change) => changes.push(change));
});

afterEach(() => {
  stopListening();
  for (const page of pages) page.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function openPage(): TokenProviders {
  const page = new TokenProviders(base);
  pages.push(page);
  return page;
}

const until = (holds: () => boolean) => vi.waitUntil(holds, { ...patient, interval: 5 });

describe('a page', () => {
  test('answers for databases at or below the address, and for no others', async () => {
    openPage().add('https://db.test', async () => ({ token: 'one', expires: 5 }));
    expect(await owner.ask(DATABASE, undefined)).toEqual({ token: 'one', expires: 5 });
    expect(changes).toEqual([{ type: 'added', prefix: 'https://db.test/' }]);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asked = owner.ask('https://db.test.evil/notes', undefined);
    vi.advanceTimersByTime(2_000);
    expect(await asked).toBeUndefined();
  });

  test('uses the provider with the longest address, and of these the latest', async () => {
    const page = openPage();
    page.add('https://db.test/notes', () => ({ token: 'notes' }));
    page.add('https://db.test/', () => ({ token: 'server' }));
    const remove = page.add(new URL('https://db.test/notes'), () => ({ token: 'latest' }));
    expect(await owner.ask(DATABASE, undefined)).toEqual({ token: 'latest' });
    remove();
    expect(await owner.ask(DATABASE, undefined)).toEqual({ token: 'notes' });
    expect(await owner.ask('https://db.test/other', undefined)).toEqual({ token: 'server' });
  });

  test('calls its function once for questions at the same time', async () => {
    let calls = 0;
    let give: (token: { token: string }) => void = () => {};
    const provide: TokenProvider = () => {
      calls++;
      return new Promise((resolve) => {
        give = resolve;
      });
    };
    openPage().add('https://db.test/', provide);
    const asked = [owner.ask(DATABASE, undefined), owner.ask('https://db.test/other', undefined)];
    await until(() => calls > 0);
    give({ token: 'one' });
    expect(await Promise.all(asked)).toEqual([{ token: 'one' }, { token: 'one' }]);
  });

  test('that fails, or returns nonsense, makes the question fail with the reason', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const failing: readonly (readonly [() => unknown, string])[] = [
      [() => Promise.reject(new Error('no network')), 'no network'],
      [() => ({ jwt: 'x' }), 'it returned an object without a string `token`'],
      [
        () => ({ token: 'a b' }),
        'it provided something that is no bearer token: only letters, digits and -._~+/ may be in it',
      ],
    ];
    for (const [provide, reason] of failing) {
      const page = openPage();
      let calls = 0;
      page.add('https://db.test/', () => {
        calls++;
        return provide() as ReturnType<TokenProvider>;
      });
      const asked = owner.ask(DATABASE, undefined);
      asked.catch(() => undefined);
      for (let turn = 0; calls === 0 && turn < 10_000; turn++) await new Promise((resolve) => setImmediate(resolve));
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      vi.advanceTimersByTime(2_000);
      await expect(asked).rejects.toThrow(reason);
      page.close();
    }
  });

  /** How the question ends, when all pages have answered. */
  async function outcomeOf(provide: () => unknown): Promise<unknown> {
    let calls = 0;
    openPage().add('https://db.test/', () => {
      calls++;
      return provide() as ReturnType<TokenProvider>;
    });
    const asked = owner.ask(DATABASE, undefined).catch((error: unknown) => error);
    for (let turn = 0; calls === 0 && turn < 10_000; turn++) await new Promise((resolve) => setImmediate(resolve));
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(2_000);
    return asked;
  }

  test.each<[string, boolean | undefined, () => unknown, object | undefined]>([
    [
      'whose request gets no response',
      true,
      () => Promise.reject(new TypeError('Failed to fetch')),
      { isOffline: true },
    ],
    [
      'whose request gets no response through a service worker of WebKit',
      true,
      () => Promise.reject(new TypeError('FetchEvent.respondWith received an error: TypeError: Load failed')),
      { isOffline: true },
    ],
    [
      'whose library says so with a cause',
      true,
      () => Promise.reject(new Error('no token', { cause: new TypeError('Load failed') })),
      { isOffline: true, message: 'no token' },
    ],
    [
      'whose request takes too long',
      true,
      () => Promise.reject(new DOMException('too long', 'TimeoutError')),
      { isOffline: true },
    ],
    [
      'that has a mistake',
      true,
      () => Promise.reject(new TypeError("Cannot read properties of undefined (reading 'fetch')")),
      { isOffline: false },
    ],
    [
      'whose library waited in vain for a frame',
      true,
      () => Promise.reject(Object.assign(new Error('IFrame timed out'), { name: 'ErrorTimeout' })),
      { isOffline: false },
    ],
    ['that fails otherwise', true, () => Promise.reject(new Error('broken')), { isOffline: false, message: 'broken' }],
    ['that fails without a network', false, () => Promise.reject(new Error('broken')), { isOffline: true }],
    ['that has no token without a network', false, () => undefined, { isOffline: true }],
    ['that has no token with a network', true, () => undefined, undefined],
    ['that has no token where that is not known', undefined, () => undefined, undefined],
  ])('%s (network: %s) says whether it is offline', async (_, onLine, provide, outcome) => {
    vi.stubGlobal('navigator', { onLine });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const ended = await outcomeOf(provide);
    if (outcome === undefined) expect(ended).toBeUndefined();
    else expect(ended).toMatchObject(outcome);
  });

  test('that has no token leaves the answer to others', async () => {
    openPage().add('https://db.test/', () => undefined);
    openPage().add('https://db.test/', async () => ({ token: 'of-the-other' }));
    expect(await owner.ask(DATABASE, undefined)).toEqual({ token: 'of-the-other' });
  });

  test('with another token than the refused one counts', async () => {
    openPage().add('https://db.test/', () => ({ token: 'old' }));
    openPage().add('https://db.test/', () => ({ token: 'new' }));
    expect(await owner.ask(DATABASE, 'old')).toEqual({ token: 'new' });
  });

  test('tells that it was opened, that it can answer, and that the user has logged out', async () => {
    const page = openPage();
    page.announcePage();
    await until(() => changes.length === 1);
    page.add('https://db.test/', () => ({ token: 'one' }))();
    await until(() => changes.length === 3);
    expect(changes).toEqual([
      { type: 'added', prefix: undefined },
      { type: 'added', prefix: 'https://db.test/' },
      { type: 'removed', prefix: 'https://db.test/' },
    ]);
  });

  test('that gets its provider after the question answers it, too', async () => {
    const asked = owner.ask(DATABASE, undefined);
    openPage().add('https://db.test/', () => ({ token: 'one' }));
    expect(await asked).toEqual({ token: 'one' });
  });

  test('that is too late is news', async () => {
    let give: (token: { token: string }) => void = () => {};
    let calls = 0;
    openPage().add('https://db.test/', () => {
      calls++;
      return new Promise((resolve) => {
        give = resolve;
      });
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const asked = owner.ask(DATABASE, undefined);
    for (let turn = 0; calls === 0 && turn < 10_000; turn++) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(30_000);
    expect(await asked).toBeUndefined();
    vi.useRealTimers();
    give({ token: 'late' });
    await until(() => changes.length === 2);
    expect(changes[1]).toEqual({ type: 'added', prefix: undefined });
  });
});

test.each(['ftp://db.test/', 'https://ana:pw@db.test/', 'https://db.test/?a', 'https://db.test/#a', 'https://'])(
  'the address %s is refused',
  (url) => {
    expect(() => openPage().add(url, () => undefined)).toThrow(TypeError);
  },
);

test('an address may be relative to the page', async () => {
  openPage().add('/couch/', () => ({ token: 'one' }));
  expect(await owner.ask('https://app.test/couch/notes', undefined)).toEqual({ token: 'one' });
});
