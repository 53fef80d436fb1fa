import { cpSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settee } from 'settee/vite';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { type PageInTab, pageInTab } from './admin/page-in-tab.ts';
import { type AppFolder, createApp } from './app-builds.ts';
import { useBrowserSession } from './browser-session.ts';
import { keepsOtherPages, until } from './demo-page.ts';
import { useDemo } from './demo-session.ts';
import type { Browser, Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { startSiteServer, type TestServer } from './server.ts';

const html =
  '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>app</title><body><script type="module" src="/main.js"></script>';

const main = `
import { start } from 'settee';
globalThis.ready = start({ base: '/db/' }).then(async (settee) => {
  globalThis.settee = settee;
  await settee.controlled;
  await settee.fetch('/db/notes?if-missing=true', { method: 'PUT' });
  return true;
});
`;

const apps: AppFolder[] = [];
const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close().catch(() => undefined);
  for (const app of apps.splice(0)) app.remove();
});

async function buildApp(options: Parameters<typeof settee>[0]): Promise<AppFolder> {
  const app = createApp({ 'index.html': html, 'main.js': main });
  apps.push(app);
  await app.build({ plugins: [settee(options)] });
  return app;
}

/** The app's page in a tab, with its database `notes`. */
class App {
  readonly folder: AppFolder;
  readonly server: TestServer;
  readonly tab: Tab;
  readonly #browser: Browser;

  private constructor(folder: AppFolder, server: TestServer, tab: Tab, browser: Browser) {
    this.folder = folder;
    this.server = server;
    this.tab = tab;
    this.#browser = browser;
  }

  static async open(browser: Browser, options: Parameters<typeof settee>[0] = { utils: true }): Promise<App> {
    const folder = await buildApp(options);
    const server = await startSiteServer(folder.outDir);
    const tab = await browser.open(`${server.origin}/`);
    opened.push(tab, server);
    await tab.evaluate('ready');
    return new App(folder, server, tab, browser);
  }

  /** Opens the administration page in a tab of its own. */
  async openPage(hash = '#/'): Promise<PageInTab> {
    const tab = await this.#browser.open(`${this.server.origin}/db/_utils/${hash}`);
    opened.unshift(tab);
    return pageInTab(tab);
  }

  /** Status, the named headers and text of the response, as another page of the app gets it. */
  ask(path: string, ...headers: readonly string[]): Promise<unknown> {
    return this.tab.evaluate(
      `fetch(${JSON.stringify(path)}).then(async (answer) =>
        [answer.status, ...${JSON.stringify(headers)}.map((name) => answer.headers.get(name)), await answer.text()])`,
    );
  }
}

/**
 * Makes another version of the page out of the built one: all files with a hash get other names, and the main one leaves a mark. The old files are
 * gone from the server, as after an update of the app.
 */
function replacePage(outDir: string): void {
  const folder = join(outDir, 'settee-utils');
  const assets = readdirSync(join(folder, 'assets'));
  const renamed = (name: string) => name.replace(/-([\w-]{8})\.(js|css)$/, '-next$1.$2');
  const files = [
    join(outDir, 'settee-sw.js'),
    join(folder, 'settee-sw-utils.js'),
    ...assets.map((name) => join(folder, 'assets', name)),
  ];
  for (const file of files) {
    const text = assets.reduce((kept, name) => kept.replaceAll(name, renamed(name)), readFileSync(file, 'utf8'));
    const mark = /\/main-[^/]*\.js$/.test(file) ? "\ndocument.documentElement.dataset.version = 'next';" : '';
    writeFileSync(
      file,
      file.endsWith('settee-sw-utils.js') ? text.replace(/version:(['"`])/, 'version:$1next') : text + mark,
    );
  }
  for (const name of assets) renameSync(join(folder, 'assets', name), join(folder, 'assets', renamed(name)));
  const worker = join(outDir, 'settee-sw.js');
  writeFileSync(worker, `${readFileSync(worker, 'utf8')}\n// next`);
}

/** The driver of WebKit runs its scripts in the page itself, whose policy forbids that: there, other pages look at the responses. */
describe.each(chosenEngines().filter((engine) => engine !== 'webkit'))(
  'the administration page of an app, in %s',
  (engine) => {
    const session = useBrowserSession(engine);

    test('lists the databases beside the app, and writes a document', async () => {
      const app = await App.open(session.browser);
      const page = await app.openPage();
      await page.sees('notes 0 0');
      await page.sees('for this site.');
      await page.seesNo('This server has no admin');
      await page.press('Create database');
      await page.fill('Name', 'library');
      await page.press('Create');
      await page.sees('This database has no documents yet.');
      await page.press('New document');
      await page.fill('Id', 'moby');
      await page.press('Continue');
      await page.type('Source of moby', '{"title": "Moby-Dick"}');
      await page.press('Review and store');
      await page.press('Store');
      await page.seesNo('not stored');
      expect(await app.tab.evaluate("fetch('/db/library/moby').then((answer) => answer.json())")).toMatchObject({
        title: 'Moby-Dick',
      });
      await page.goTo('#/');
      await app.tab.evaluate("fetch('/db/notes/a', { method: 'PUT', body: '{}' }).then(({ status }) => status)");
      await page.sees('notes 1 0');
    });

    test('opens without a server once it was opened with one, on screens that were never seen', async () => {
      const app = await App.open(session.browser);
      const page = await app.openPage();
      await page.sees('notes 0 0');
      await app.server.close();
      await page.tab.reload();
      await page.sees('notes 0 0');
      await page.goTo('#/db/notes/query');
      await page.type('Query', '{"selector": {}}');
      await page.press('Run');
      await page.sees('No document matches.');
      await page.goTo('#/activity');
      await page.sees('Statistics');
    });

    test('opens and writes when the tab of the app is closed', async () => {
      const app = await App.open(session.browser);
      const page = await app.openPage();
      await page.sees('notes 0 0');
      await app.tab.close();
      await app.server.close();
      await page.tab.reload();
      await page.sees('notes 0 0');
      await page.press('Create database');
      await page.fill('Name', 'library');
      await page.press('Create');
      await page.sees('This database has no documents yet.');
      const again = await app.openPage();
      await again.sees('library 0 0');
    });

    test('is another one as a whole after an update of the app, and one that is open keeps its files', async () => {
      const app = await App.open(session.browser);
      const page = await app.openPage();
      await page.sees('notes 0 0');
      replacePage(app.folder.outDir);
      expect(await app.tab.evaluate('settee.update()')).toBe(true);
      await page.goTo('#/db/notes/shape');
      await page.sees('Shape');
      await page.goTo('#/db/notes/query');
      await page.sees('Run');
      expect(await page.tab.evaluate('document.documentElement.dataset.version')).toBeUndefined();
      await page.tab.reload();
      await page.sees('Run');
      expect(await page.tab.evaluate('document.documentElement.dataset.version')).toBe('next');
      const loaded = await page.tab.evaluate(
        "performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/assets/'))",
      );
      expect(loaded).toEqual(
        expect.arrayContaining([expect.stringMatching(/\/db\/_utils\/assets\/main-next[^/]*\.js$/)]),
      );
      expect(
        String(loaded)
          .split(',')
          .filter((name) => !name.includes('-next')),
      ).toEqual([]);
      await app.server.close();
      await page.tab.reload();
      await page.sees('Run');
    });

    test('of a new build waits with the new service worker, and says what to do if the old files are gone', async () => {
      const app = await App.open(session.browser);
      rmSync(join(app.folder.outDir, 'settee-utils'), { recursive: true });
      const page = await app.openPage();
      await page.sees('If the app was updated, reload its open pages first.');
      // In words for somebody who opened it, and for programs as other responses are.
      expect(await page.tab.evaluate('[document.contentType, document.title]')).toEqual([
        'text/html',
        'The administration page is not there yet',
      ]);
      expect(await app.ask('/db/_utils/', 'content-type')).toEqual([
        503,
        'application/json',
        expect.stringContaining('service_unavailable'),
      ]);
    });

    test('speaks of this browser, and leads back to the app', async () => {
      const app = await App.open(session.browser);
      const page = await app.openPage();
      await page.sees('notes 0 0');
      await page.sees('in this browser');
      await page.goTo('#/users');
      await page.sees('They may do everything in this browser.');
      await page.sees('As long as there is none, every page of this site may do anything.');
      await page.goTo('#/db/notes/security');
      await page.sees('Every page of this site can read and write documents');
      await page.seesNo('this server');
      expect(
        await page.tab.evaluate(
          "[...document.querySelectorAll('a')].find(({ textContent }) => textContent.trim() === 'Back to the app')?.href",
        ),
      ).toBe(`${app.server.origin}/`);
    });

    test('is shown in no frame', async () => {
      const app = await App.open(session.browser);
      await app.ask('/db/_utils/');
      const isShown = await app.tab.evaluate(`new Promise((resolve) => {
        const frame = Object.assign(document.createElement('iframe'), { src: '/db/_utils/' });
        frame.onload = () => { try { resolve(frame.contentDocument?.getElementById('app') != null); } catch { resolve(false); } };
        document.body.append(frame);
      })`);
      expect(isShown).toBe(false);
    });
  },
);

describe.each(chosenEngines().filter((engine) => engine !== 'webkit'))('the demo, in %s', (engine) => {
  const demo = useDemo(engine);

  test('has the administration page of its database, also offline', async () => {
    await demo.serve();
    const tab = await demo.open('#/');
    await until(tab, 'navigator.serviceWorker.controller !== null');
    const page = pageInTab(await demo.browser.open(new URL('/db/_utils/', demo.url).href));
    opened.push(page.tab);
    await page.sees('for this site.');
    await demo.stopServer();
    await page.tab.reload();
    await page.sees('for this site.');
    await page.goTo('#/settings');
    await page.sees('uuids');
  });

  test('has the administration page also if it is opened for the first time without a network', async () => {
    await demo.serve();
    const tab = await demo.open('#/countries');
    await keepsOtherPages(tab);
    await demo.stopServer();
    const page = pageInTab(await demo.browser.open(new URL('/db/_utils/', demo.url).href));
    opened.push(page.tab);
    await page.sees('for this site.');
    await page.goTo('#/settings');
    await page.sees('uuids');
  });
});

describe.each(chosenEngines())('the responses of the administration page of an app, in %s', (engine) => {
  const session = useBrowserSession(engine);

  test('are those of the server, with and without a network', async () => {
    const app = await App.open(session.browser);
    const look = async () => {
      const [status, policy, type, text] = Array.from(
        Object(await app.ask('/db/_utils/', 'content-security-policy', 'content-type')),
      );
      expect([status, type]).toEqual([200, 'text/html; charset=utf-8']);
      expect(policy).toMatch(/^default-src 'none'; script-src 'self';.* frame-ancestors 'none'$/);
      const [, script] = /src="\.\/(assets\/main-[^"]+\.js)"/.exec(String(text)) ?? [];
      expect(await app.ask(`/db/_utils/${script}`, 'content-type', 'cache-control')).toEqual([
        200,
        'text/javascript; charset=utf-8',
        'public, max-age=31536000, immutable',
        expect.stringContaining('import'),
      ]);
      expect(await app.ask('/db/_utils/settings.json')).toEqual([200, '{"read_only":false}\n']);
      expect(await app.ask('/db/_utils/nothing.js')).toEqual([404, '{"error":"not_found","reason":"missing"}\n']);
      expect(await app.tab.evaluate("fetch('/db/_utils').then(({ status, url }) => [status, url])")).toEqual([
        200,
        `${app.server.origin}/db/_utils/`,
      ]);
    };
    await look();
    await app.server.close();
    await look();
  });

  test('have the files that an app with all its files keeps, without a network from the start', async () => {
    const app = await App.open(session.browser, { utils: true, precache: true });
    await app.server.close();
    expect(await app.ask('/db/_utils/session.html', 'content-type')).toEqual([
      200,
      'text/html; charset=utf-8',
      expect.stringContaining('<div id="app">'),
    ]);
  });
});

describe.each(chosenEngines())('an app without a bundler, in %s', (engine) => {
  const session = useBrowserSession(engine);
  const built = join(import.meta.dirname, '../../dist');

  /** The files of the package where the documentation says, and a page that starts the service worker with that query. */
  async function openSite(query: string, hasFolder: boolean): Promise<Tab> {
    const site = createApp({
      'site/index.html': html,
      'site/main.js': main
        .replace("'settee'", "'/settee.js'")
        .replace("base: '/db/'", `base: '/db/', serviceWorker: '/settee-sw.js?base=/db/&${query}'`),
    });
    apps.push(site);
    const folder = join(site.path, 'site');
    cpSync(join(built, 'browser'), folder, { recursive: true });
    if (hasFolder) cpSync(join(built, 'utils'), join(folder, 'settee-utils'), { recursive: true });
    const server = await startSiteServer(folder);
    const tab = await session.browser.open(`${server.origin}/`);
    opened.push(tab, server);
    return tab;
  }

  test.for(['utils=true', 'utils', 'utils=/settee-utils/settee-sw-utils.js'])(
    'has the administration page in a copied folder, with the parameter %s',
    async (query) => {
      const tab = await openSite(query, true);
      await tab.evaluate('ready');
      expect(
        await tab.evaluate("fetch('/db/_utils/').then(async (answer) => [answer.status, await answer.text()])"),
      ).toEqual([200, expect.stringContaining('<div id="app">')]);
    },
  );

  test('does not start without the folder', async () => {
    const tab = await openSite('utils=true', false);
    expect(await tab.evaluate('ready.catch(({ message }) => message)')).toMatch(/^The service worker .* did not start/);
  });
});

describe.each(chosenEngines())('an app without the administration page, in %s', (engine) => {
  const session = useBrowserSession(engine);

  test('says how to add it, and keeps nothing of one that it had', async () => {
    const app = await App.open(session.browser);
    await app.ask('/db/_utils/');
    expect(await app.tab.evaluate('caches.keys()')).toEqual([
      expect.stringMatching(`^settee-utils ${app.server.origin}/db/ [0-9a-f]{16}$`),
    ]);
    await app.folder.build({ plugins: [settee()] });
    expect(await app.tab.evaluate('settee.update()')).toBe(true);
    await expect.poll(() => app.tab.evaluate('caches.keys()'), patient).toEqual([]);
    expect(await app.ask('/db/_utils/')).toEqual([
      501,
      expect.stringContaining('With Vite, settee({ utils: true }) adds the page'),
    ]);
  });
});

describe('the build of an app without the administration page', () => {
  let app: AppFolder;
  beforeAll(async () => {
    app = await buildApp({});
  });

  test('has none of its files, and the plain service worker', () => {
    expect(readdirSync(app.outDir).sort()).toEqual([
      'assets',
      'index.html',
      'settee-quickjs.wasm',
      'settee-sw-core.js',
      'settee-sw.js',
    ]);
    const own = join(import.meta.dirname, '../../dist/browser/settee-sw.js');
    expect(readFileSync(join(app.outDir, 'settee-sw.js'), 'utf8')).toBe(readFileSync(own, 'utf8'));
  });
});
