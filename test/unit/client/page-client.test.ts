import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PageClient } from '../../../src/client/page-client.ts';

/** One that never answers: what is tested here is decided before. */
class SilentWorker extends EventTarget {
  postMessage(): void {}
  terminate(): void {}
}

beforeEach(() => {
  vi.stubGlobal('Worker', SilentWorker);
  vi.stubGlobal('document', { baseURI: 'https://app.example/page' });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('navigator', {});
});

afterEach(() => {
  vi.unstubAllGlobals();
});

const createClient = () => new PageClient({ base: 'https://app.example/db/', serviceWorker: false }, () => {});

describe('fetch', () => {
  test.for(['http://[', 'https://app.example:port/db/'])('rejects for %s, which is no address', async (address) => {
    const { fetch } = createClient();
    const answer = fetch(address);
    await expect(answer).rejects.toThrow(TypeError);
  });

  test('leaves to the network what is not below the base', async () => {
    const network = vi.fn(async () => new Response('from the network'));
    vi.stubGlobal('fetch', network);
    const { fetch } = createClient();
    const init = { method: 'POST' };
    expect(await (await fetch('/db', init)).text()).toBe('from the network');
    expect(network).toHaveBeenCalledWith('/db', init);
  });
});
