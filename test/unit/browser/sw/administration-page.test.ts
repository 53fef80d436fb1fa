import { beforeEach, describe, expect, test } from 'vitest';
import { AdministrationPage, type PageScope } from '../../../../src/browser/sw/administration-page.ts';
import type { BuiltPage } from '../../../../src/browser/sw/contract.ts';
import { FakeFetch } from './fake-scope.ts';

const base = 'https://app.example/db/';
const root = `${base}_utils/`;
const script = new URL('https://app.example/settee-utils/settee-sw-utils.js?1');

function built(version: string): BuiltPage {
  return {
    version,
    pages: {
      'index.html': { text: `<title>${version}</title>`, tag: `index-${version}` },
      'session.html': { text: `<title>session ${version}</title>`, tag: `session-${version}` },
    },
    assets: { [`assets/main-${version}.js`]: `main-${version}`, 'assets/style-0.css': 'style-0' },
  };
}

/** Caches as a service worker has them, and the site's own server. */
class FakeSite {
  readonly stored = new Map<string, Map<string, Response>>();
  readonly files = new Map<string, Response | string>();
  readonly fetched: string[] = [];
  windows: { readonly id: string; readonly url: string }[] = [];
  hasNetwork = true;
  isFull = false;
  refusesCaches = false;

  loseNetwork(): void {
    this.hasNetwork = false;
  }

  has(name: string, text: string): void {
    this.files.set(`https://app.example/settee-utils/${name}`, text);
  }

  get scope(): PageScope {
    const site = {
      caches: {
        open: async (name: string) => this.#open(name),
        match: async (url: string) => {
          if (this.refusesCaches) throw new DOMException('refused', 'SecurityError');
          const found = [...this.stored.values()].find((cache) => cache.has(url));
          return found?.get(url)?.clone();
        },
        keys: async () => [...this.stored.keys()],
        delete: async (name: string) => this.stored.delete(name),
      },
      clients: { matchAll: async () => this.windows },
      fetch: async (url: string) => {
        this.fetched.push(url.replace('https://app.example/settee-utils/', ''));
        if (!this.hasNetwork) throw new TypeError('Failed to fetch');
        const found = this.files.get(url) ?? new Response('nothing', { status: 404 });
        const type = { 'content-type': 'application/x-javascript' };
        return typeof found === 'string' ? new Response(found, { headers: type }) : found.clone();
      },
    };
    return site as unknown as PageScope;
  }

  #open(name: string) {
    if (this.refusesCaches) throw new DOMException('refused', 'SecurityError');
    const cache = this.stored.get(name) ?? new Map<string, Response>();
    this.stored.set(name, cache);
    return {
      match: async (url: string) => cache.get(url)?.clone(),
      put: async (url: string, response: Response) => {
        if (this.isFull) throw new DOMException('full', 'QuotaExceededError');
        cache.set(url, response);
      },
    };
  }
}

let site: FakeSite;
let page: AdministrationPage;

beforeEach(() => {
  site = new FakeSite();
  site.has('assets/main-1.js', 'first();');
  site.has('assets/style-0.css', 'body {}');
  page = new AdministrationPage(built('1'), site.scope, { base, script });
});

async function answer(address: string, init?: RequestInit, by = page): Promise<Response> {
  const event = new FakeFetch(new Request(address, init));
  const response = await by.respond(event.asEvent);
  if (response === undefined) throw new Error(`${address} is not for the page`);
  await Promise.all(event.waits);
  return response;
}

describe('the administration page of a service worker', () => {
  test('has the headers that it has on the server', async () => {
    for (const [name, text, tag] of [
      ['', '<title>1</title>', '"index-1"'],
      ['index.html?a=b', '<title>1</title>', '"index-1"'],
      ['session.html', '<title>session 1</title>', '"session-1"'],
    ]) {
      const response = await answer(root + name);
      expect(response.status).toBe(200);
      expect(Object.fromEntries(response.headers)).toEqual({
        'cache-control': 'no-cache',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        'content-type': 'text/html; charset=utf-8',
        etag: tag,
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
      });
      expect(await response.text()).toBe(text);
    }
    const asset = await answer(`${root}assets/main-1.js`);
    expect(asset.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(asset.headers.get('etag')).toBe('"main-1"');
    expect(await asset.text()).toBe('first();');
  });

  test('is redirected to its address with a slash', async () => {
    const response = await answer(`${base}_utils?x=1`);
    expect([response.status, response.headers.get('location')]).toEqual([301, root]);
  });

  test('is not sent again to a client that has it, and HEAD gets no body', async () => {
    for (const [name, tag] of [
      ['', '"index-1"'],
      ['assets/main-1.js', '"main-1"'],
    ] as const) {
      const known = await answer(root + name, { headers: { 'if-none-match': `"other", ${tag}` } });
      expect([known.status, known.headers.get('etag'), await known.text()]).toEqual([304, tag, '']);
      const head = await answer(root + name, { method: 'HEAD' });
      expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, tag, '']);
    }
  });

  test('leaves its settings and all writes to the database', () => {
    for (const [address, method] of [
      [`${root}settings.json`, 'GET'],
      [root, 'PUT'],
      [`${base}_utilsx`, 'GET'],
      [`${base}notes/_utils/`, 'GET'],
    ] as const) {
      expect(page.respond(new FakeFetch(new Request(address, { method })).asEvent)).toBeUndefined();
    }
  });

  test.for([
    'nothing.js',
    'assets/',
    'assets/constructor',
    'constructor',
    'settee-sw-utils.js',
    '..%2f..%2fpackage.json',
  ])('has no file %s', async (name) => {
    const response = await answer(root + name);
    expect([response.status, await response.json()]).toEqual([404, { error: 'not_found', reason: 'missing' }]);
  });

  test('is refused for a base on another origin, where no service worker answers navigations', () => {
    expect(() => new AdministrationPage(built('1'), site.scope, { base: 'https://db.example/', script })).toThrow(
      "can't be served below https://db.example/: it needs a base on the app's own origin",
    );
  });
});

describe('the files of the administration page', () => {
  test('are all kept when the page is opened, and needed from the network only once', async () => {
    await answer(root);
    expect(site.fetched.sort()).toEqual(['assets/main-1.js', 'assets/style-0.css']);
    site.hasNetwork = false;
    expect((await answer(root)).status).toBe(200);
    expect(await (await answer(`${root}assets/main-1.js`)).text()).toBe('first();');
    expect((await answer(`${root}assets/style-0.css`)).headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(site.fetched).toHaveLength(2);
  });

  test('are taken from what the app keeps itself', async () => {
    const kept = [...site.files].map(([url, text]): [string, Response] => [url, new Response(String(text))]);
    site.stored.set('of the app', new Map(kept));
    site.hasNetwork = false;
    expect((await answer(root)).status).toBe(200);
    site.stored.delete('of the app');
    expect(await (await answer(`${root}assets/main-1.js`)).text()).toBe('first();');
    expect(site.fetched).toEqual([]);
  });

  test.for<readonly [what: string, spoil: () => void, why: string]>([
    ['no network', () => site.loseNetwork(), 'TypeError: Failed to fetch'],
    ['no such file', () => site.files.clear(), 'assets/main-1.js answers 404 text/plain;charset=UTF-8'],
    [
      'a server that answers with its page',
      () =>
        site.files.set(
          'https://app.example/settee-utils/assets/main-1.js',
          new Response('<p>', { headers: { 'content-type': 'text/html' } }),
        ),
      'assets/main-1.js answers 200 text/html',
    ],
  ])('must all be there before the page is shown: with %s the response says why', async ([, spoil, why]) => {
    spoil();
    const response = await answer(root);
    expect(response.status).toBe(503);
    const { error, reason } = await response.json();
    expect(error).toBe('service_unavailable');
    expect(reason).toContain(why);
    expect(reason).toContain('If the app was updated, reload its open pages first.');
  });

  test.for(['isFull', 'refusesCaches'] as const)('come from the network where storage %s', async (fault) => {
    site[fault] = true;
    expect((await answer(root)).status).toBe(200);
    expect(await (await answer(`${root}assets/main-1.js`)).text()).toBe('first();');
  });
});

describe('another version of the administration page', () => {
  let next: AdministrationPage;

  beforeEach(async () => {
    await answer(root);
    site.files.delete('https://app.example/settee-utils/assets/main-1.js');
    site.has('assets/main-2.js', 'second();');
    next = new AdministrationPage(built('2'), site.scope, { base, script });
  });

  test('is served as a whole, while the files of one that is still open stay', async () => {
    site.windows = [{ id: 'old', url: `${root}#/db/notes` }];
    expect(await (await answer(root, {}, next)).text()).toBe('<title>2</title>');
    expect(await (await answer(`${root}assets/main-2.js`, {}, next)).text()).toBe('second();');
    expect(await (await answer(`${root}assets/main-1.js`, {}, next)).text()).toBe('first();');
  });

  test('takes the place of the old one when no page of that is open', async () => {
    site.windows = [{ id: 'app', url: 'https://app.example/' }];
    site.stored.set(`settee-utils https://app.example/other/ 1`, new Map());
    await answer(root, {}, next);
    expect([...site.stored.keys()].sort()).toEqual([
      `settee-utils ${base} 2`,
      'settee-utils https://app.example/other/ 1',
    ]);
    expect((await answer(`${root}assets/main-1.js`, {}, next)).status).toBe(404);
  });

  test('is not shown before all of it is there', async () => {
    site.files.delete('https://app.example/settee-utils/assets/main-2.js');
    expect((await answer(root, {}, next)).status).toBe(503);
    expect(await (await answer(root)).text()).toBe('<title>1</title>');
  });
});
