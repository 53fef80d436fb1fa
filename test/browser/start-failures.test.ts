import { describe, expect, test } from 'vitest';
import { type Site, useBrowserSession } from './browser-session.ts';
import { call, type StartChoice } from './controls.ts';
import { chosenEngines } from './drivers/start.ts';

const base = '/db/';

/** What stands in a page's way, and what `start` says of it. */
describe.each(chosenEngines())('settee.start() in %s, where something is missing or forbidden', (engine) => {
  const session = useBrowserSession(engine);

  /** The site answers requests to `path` with these headers besides its own. */
  async function siteWith(path: string, headers: Readonly<Record<string, string>>): Promise<Site> {
    const site = await session.openSite();
    site.server.intercept(({ url = '' }, response) => {
      // For pages in a sandbox, to which their own site is another one.
      response.setHeader('access-control-allow-origin', '*');
      if (url.startsWith(path)) for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
      return false;
    });
    return site;
  }

  async function failureOn(site: Site, options: Partial<StartChoice> = {}): Promise<string> {
    const tab = await site.open('control');
    return call(tab, 'start', { base, serviceWorker: false, ...options }).then(() => 'it started', String);
  }

  test.each([
    ['worker', { worker: '/missing.js' }],
    ['service worker', { serviceWorker: '/missing.js' }],
  ])('names the address of a missing %s, and the remedy', async (what, options) => {
    const site = await session.openSite();
    const failure = await failureOn(site, options);
    expect(failure).toContain(`The ${what} ${site.server.origin}/missing.js did not start`);
    expect(failure).toContain(
      'its address answers 404 text/plain. The file is not there: with Vite add the plugin settee/vite, otherwise copy the file. ' +
        'Serve the files of settee/dist/browser as JavaScript',
    );
  });

  test.each([
    ['worker', { worker: '/page/control' }],
    ['service worker', { serviceWorker: '/page/control' }],
  ])('says that a page was served instead of the %s', async (what, options) => {
    const failure = await failureOn(await session.openSite(), options);
    expect(failure).toMatch(new RegExp(`The ${what} .*/page/control did not start: .*answers 200 text/html`));
    expect(failure).toContain('with Vite add the plugin settee/vite');
  });

  test("says that the app's service worker is a module", async () => {
    const site = await session.openSite();
    site.server.intercept(({ url }, response) => {
      if (url !== '/module.js') return false;
      response.setHeader('content-type', 'text/javascript').end('export const a = 1;\n');
      return true;
    });
    expect(await failureOn(site, { serviceWorker: '/module.js' })).toContain('must be a classic script');
  });

  test.each([
    ['worker', {}],
    ['service worker', { serviceWorker: '/settee-sw.js?base=/db/' }],
  ])('names the CSP directive that forbids the script of the %s', async (what, options) => {
    const directive = what === 'worker' ? "worker-src 'none'" : 'worker-src /settee-worker.js';
    const site = await siteWith('/page/', {
      'content-security-policy': directive.replace(' /', ' http://127.0.0.1:*/'),
    });
    const failure = await failureOn(site, options);
    expect(failure).toMatch(
      new RegExp(`The ${what} .* did not start: the page's Content-Security-Policy forbids it by worker-src`),
    );
    expect(failure).toContain("worker-src 'self'");
  });

  test.runIf(engine === 'chromium')(
    'names the CSP directive trusted-types, and the policy that it must allow',
    async () => {
      const policy = "require-trusted-types-for 'script'; trusted-types other";
      const site = await siteWith('/page/', { 'content-security-policy': policy });
      const failure = await failureOn(site);
      expect(failure).toContain("the page's Content-Security-Policy forbids it by trusted-types");
      expect(failure).toContain('with settee in trusted-types');
    },
  );

  test('starts completely if scripts need trusted types and the policy is allowed', async () => {
    const policy = "require-trusted-types-for 'script'; trusted-types settee";
    // The driver of WebKit evaluates what it is told, in the page.
    const site = await siteWith(engine === 'webkit' ? '/settee-' : '/', { 'content-security-policy': policy });
    const tab = await site.open('control');
    await call(tab, 'start', { base });
    const asked = session.browser.messages.length;
    const ask = (method: string, path: string, json?: unknown) =>
      call(tab, 'request', 'fetch', method, `/db/notes${path}`, json);
    expect((await ask('PUT', '')).status).toBe(201);
    const view = { views: { all: { map: 'function (doc) { emit(doc._id); }' } } };
    expect((await ask('PUT', '/_design/d', view)).status).toBe(201);
    expect((await ask('PUT', '/a', {})).status).toBe(201);
    expect((await ask('GET', '/_design/d/_view/all')).json).toMatchObject({ total_rows: 1 });
    expect(site.server.seen).toContain('/settee-sandbox.js');
    expect(session.browser.messages.slice(asked).join('\n')).not.toContain('No worker for functions');
  });

  test('says that a sandboxed page has no storage', async () => {
    const site = await siteWith('/page/', { 'content-security-policy': 'sandbox allow-scripts' });
    expect(await failureOn(site, { serviceWorker: '/settee-sw.js?base=/db/' })).toMatch(/did not start: .*sandbox/);
  });

  test('starts without WebAssembly, and only functions of design documents fail, with an error that says so', async () => {
    const strict = { 'content-security-policy': "default-src 'self'; script-src 'self'" };
    const site = await session.openSite();
    site.server.intercept(({ url = '' }, response) => {
      // The driver of WebKit evaluates what it is told, in the page.
      if (url.startsWith('/settee-worker.js') || (engine !== 'webkit' && url.startsWith('/page/')))
        for (const [name, value] of Object.entries(strict)) response.setHeader(name, value);
      return false;
    });
    const tab = await site.open('control');
    await call(tab, 'start', { base, serviceWorker: false });
    const ask = (method: string, path: string, json?: unknown) =>
      call(tab, 'request', 'settee', method, `/db/notes${path}`, json);
    expect((await ask('PUT', '')).status).toBe(201);
    expect((await ask('PUT', '/a', { text: 'Hello' })).status).toBe(201);
    expect((await ask('PUT', '/a/file.txt', 'x')).status).toBe(409);
    expect((await ask('POST', '/_find', { selector: { text: 'Hello' } })).json).toMatchObject({
      docs: [{ _id: 'a', text: 'Hello' }],
    });
    await ask('PUT', '/_design/d', { views: { all: { map: 'function (doc) { emit(doc._id); }' } } });
    const { json } = await ask('GET', '/_design/d/_view/all');
    const refusal = { error: 'not_implemented', reason: expect.stringContaining("'wasm-unsafe-eval'") };
    // WebKit keeps a worker's WebAssembly to no policy.
    expect(json).toMatchObject(engine === 'webkit' ? { total_rows: 1 } : refusal);
  });
});

describe.each(chosenEngines().filter((engine) => engine !== 'webkit'))(
  'where site data are blocked in %s',
  (engine) => {
    const session = useBrowserSession(engine, { blocksSiteData: true });

    test('start fails, and says why and what to do', async () => {
      const site = await session.openSite();
      // The page of the other tests needs a channel, which it can't have here.
      const tab = await site.open('empty');
      const start = "import('/settee.js').then(({ start }) => start({ base: '/db/' }))";
      const failure = await tab.evaluate(start).then(() => 'it started', String);
      expect(failure).toContain('allow the site to store data');
    });
  },
);
