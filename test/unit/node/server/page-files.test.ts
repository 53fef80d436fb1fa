import { afterEach, expect, test } from 'vitest';
import { NodeHost } from '../../../support/conformance/node-host.ts';

let host: NodeHost | undefined;

afterEach(async () => {
  await host?.close();
  host = undefined;
});

async function open(settings?: Parameters<typeof NodeHost.start>[0]): Promise<string> {
  host = await NodeHost.start(settings);
  return host.baseUrl;
}

test('the administration page is served with a strict policy, and not again while it is the same', async () => {
  const url = await open();
  const response = await fetch(`${url}/_utils/`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('no-cache');
  expect(response.headers.get('content-security-policy')).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(await response.text()).toContain('<div id="app"></div>');
  const again = await fetch(`${url}/_utils/`, { headers: { 'if-none-match': response.headers.get('etag') ?? '' } });
  expect(again.status).toBe(304);
});

test('the scripts of the administration page can be cached for ever', async () => {
  const url = await open();
  const [, script] = /src="\.\/(assets\/[^"]+\.js)"/.exec(await (await fetch(`${url}/_utils/`)).text()) ?? [];
  const response = await fetch(`${url}/_utils/${script}`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
});

test('the address of the administration page without its slash is redirected', async () => {
  const url = await open();
  const response = await fetch(`${url}/_utils`, { redirect: 'manual' });
  expect(response.status).toBe(301);
  expect(response.headers.get('location')).toBe(`${url}/_utils/`);
});

test('only files of the administration page are served below its address', async () => {
  const url = await open();
  for (const path of ['%2e%2e/main.js', '..%2f..%2fpackage.json', 'assets', 'nothing.js', 'index.html/']) {
    const response = await fetch(`${url}/_utils/${path}`);
    expect(`${path}: ${response.status}`).toBe(`${path}: ${path === 'index.html/' ? 200 : 404}`);
  }
  expect((await fetch(`${url}/_utils/`, { method: 'PUT' })).status).toBe(405);
});

test('the setting utils/read_only says how the administration page begins', async () => {
  const url = await open({ utils: { read_only: 'true' } });
  expect(await (await fetch(`${url}/_utils/settings.json`)).json()).toEqual({ read_only: true });
});

test('those who have to log in are sent to a page that is there', async () => {
  const url = await open();
  const response = await fetch(`${url}/_utils/session.html?return=%2Flibrary`);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
});
