import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { fetchQuickJsWasm } from '../../../../src/browser/worker/quickjs-wasm.ts';

const network = vi.fn<(url: URL) => Promise<Response>>();

beforeEach(() => {
  vi.stubGlobal('self', { location: { href: 'https://app.example/assets/settee-worker.js' } });
  vi.stubGlobal('fetch', network);
});

afterEach(() => {
  vi.unstubAllGlobals();
  network.mockReset();
});

describe('the WebAssembly', () => {
  test('is fetched from the folder of the script, and once more if a connection fails', async () => {
    network.mockRejectedValueOnce(new TypeError('broken'));
    network.mockResolvedValueOnce(new Response(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1)));
    expect([...(await fetchQuickJsWasm())]).toEqual([0, 0x61, 0x73, 0x6d, 1]);
    expect(network.mock.calls.map(([url]) => url.href)).toEqual(
      Array(2).fill('https://app.example/assets/settee-quickjs.wasm'),
    );
  });

  test('fails with its name if a page is served instead, as single-page app servers do', async () => {
    const page = new Response('<!doctype html>', { headers: { 'content-type': 'text/html' } });
    network.mockResolvedValueOnce(page);
    await expect(fetchQuickJsWasm()).rejects.toThrow(
      "settee-quickjs.wasm was answered with text/html, not with WebAssembly; the file must be in the same folder as the worker's script",
    );
  });

  test('fails with its name if it is missing', async () => {
    network.mockResolvedValueOnce(new Response('gone', { status: 404 }));
    await expect(fetchQuickJsWasm()).rejects.toThrow('settee-quickjs.wasm was answered with 404');
  });
});
