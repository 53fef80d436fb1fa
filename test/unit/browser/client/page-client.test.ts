import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PageClient } from '../../../../src/browser/client/page-client.ts';
import { PageUser } from '../../../../src/browser/client/page-user.ts';

/** One that never answers: what is tested here is decided before. */
class SilentWorker extends EventTarget {
  postMessage(): void {}
  terminate(): void {}
}

beforeEach(() => {
  vi.stubGlobal('Worker', SilentWorker);
  vi.stubGlobal('document', { baseURI: 'https://app.example/page' });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('navigator', { userAgent: '' });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

const createClient = () => new PageClient({ base: 'https://app.example/db/', serviceWorker: false }, () => {});

describe('fetch', () => {
  test.for(['http://[', 'https://app.example:port/db/'])('rejects for %s, which is not an address', async (address) => {
    const { fetch } = createClient();
    const answer = fetch(address);
    await expect(answer).rejects.toThrow(TypeError);
  });

  test('leaves addresses outside of the base to the network', async () => {
    const network = vi.fn(async () => new Response('from the network'));
    vi.stubGlobal('fetch', network);
    const { fetch } = createClient();
    const init = { method: 'POST' };
    expect(await (await fetch('/db', init)).text()).toBe('from the network');
    expect(network).toHaveBeenCalledWith('/db', init);
  });
});

describe("fetch in place of the page's own", () => {
  const startClient = () => {
    const options = { base: 'https://app.example/db/', serviceWorker: false, replaceFetch: true } as const;
    const user = new PageUser(new PageClient(options, () => {}), new Set(), options);
    user.opened.catch(() => {});
    return user;
  };

  test('passes on addresses outside of the base, and is restored by close()', async () => {
    const network = vi.fn(async () => new Response('from the network'));
    vi.stubGlobal('fetch', network);
    const client = startClient();
    expect(globalThis.fetch).not.toBe(network);
    expect(await (await fetch('/elsewhere')).text()).toBe('from the network');
    await client.close();
    expect(globalThis.fetch).toBe(network);
  });

  test("passes on everything when it can't be restored because another one replaced it", async () => {
    const network = vi.fn(async () => new Response('from the network'));
    vi.stubGlobal('fetch', network);
    const client = startClient();
    const ours = globalThis.fetch;
    const wrapper: typeof fetch = (...request) => ours(...request);
    globalThis.fetch = wrapper;
    await client.close();
    expect(globalThis.fetch).toBe(wrapper);
    expect(await (await fetch('https://app.example/db/notes')).text()).toBe('from the network');
  });
});

test('start() on Node says that it is for browsers', async () => {
  vi.stubGlobal('document', undefined);
  const { start } = await import('../../../../src/browser/client/index.ts');
  await expect(start({ base: '/db/' })).rejects.toThrow('start() works only in a page');
});
