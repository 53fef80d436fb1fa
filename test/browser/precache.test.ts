import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { settee } from 'settee/vite';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { type AppFolder, createApp } from './app-builds.ts';
import { useBrowserSession } from './browser-session.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { startSiteServer, type TestServer } from './server.ts';

/** What the pages of these apps do: they show which build they are, and leave what they are asked for in globals. */
const page = (script: string) =>
  `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>app</title><body><script type="module" src="${script}"></script>`;

const main = (label: string, from: string) => `
import { start } from '${from}';
document.body.dataset.build = '${label}';
globalThis.ready = start({ base: '/db/', ...globalThis.options }).then(async (settee) => {
  globalThis.settee = settee;
  await settee.controlled;
  await settee.fetch('/db/notes?if-missing=true', { method: 'PUT' });
  return true;
});
`;

const files = {
  'index.html': page('/main.js'),
  'about.html': page('/about.js'),
  'about.js': "document.body.dataset.build = 'about';",
  'public/logo one.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
};

const apps: AppFolder[] = [];
const servers: TestServer[] = [];

afterEach(async () => {
  for (const app of apps.splice(0)) app.remove();
  for (const server of servers.splice(0)) await server.close().catch(() => undefined);
});

async function serve(folder: string): Promise<TestServer> {
  const server = await startSiteServer(folder);
  servers.push(server);
  return server;
}

function app(): AppFolder {
  const created = createApp({ ...files, 'main.js': main('first', 'settee') });
  apps.push(created);
  return created;
}

const build = (created: AppFolder, options: Parameters<typeof settee>[0]) =>
  created.build({
    plugins: [settee(options)],
    build: { rolldownOptions: { input: ['index.html', 'about.html'].map((name) => join(created.path, name)) } },
  });

const shown = 'document.body.dataset.build';
const write = (text: string) =>
  `fetch('/db/notes/a', { method: 'PUT', body: '{"text":"${text}"}' }).then((answer) => answer.status)`;
const read = "fetch('/db/notes/a').then((answer) => answer.json()).then(({ text }) => text)";
const kept = `(async () => {
  const urls = [];
  for (const name of await caches.keys()) for (const { url } of await (await caches.open(name)).keys()) urls.push(url);
  return urls.map((url) => new URL(url).pathname).sort();
})()`;

/** The functions of design documents are in files of their own, which the page has not loaded before. */
const queries = `fetch('/db/notes/_find', {
  method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"selector": {"text": {"$regex": "^k"}}}',
}).then((answer) => answer.json()).then(({ docs }) => docs.length)`;

describe.each(chosenEngines())('an app that keeps its own files, in %s', (engine) => {
  const session = useBrowserSession(engine);

  /** A page of the first build gets the second one by its own `update()`, and no sooner. */
  async function updates(tab: Tab): Promise<void> {
    await tab.reload();
    expect(await tab.evaluate(shown)).toBe('first');
    await tab.evaluate('ready');
    expect(await tab.evaluate('settee.update()')).toBe(true);
    await tab.reload();
    expect(await tab.evaluate(shown)).toBe('second');
  }

  async function open(url: string): Promise<Tab> {
    const tab = await session.browser.open(url);
    await tab.evaluate('ready');
    return tab;
  }

  test('starts without a server, with its pages, files and data', async () => {
    const created = app();
    await build(created, { precache: true });
    const server = await serve(created.outDir);
    const tab = await open(`${server.origin}/`);
    expect(await tab.evaluate(write('kept'))).toBe(201);
    await server.close();
    await tab.reload();
    expect(await tab.evaluate(shown)).toBe('first');
    await tab.evaluate('ready');
    expect(await tab.evaluate(read)).toBe('kept');
    expect(await tab.evaluate(queries)).toBe(1);
    expect(await tab.evaluate("fetch('/logo%20one.svg').then((answer) => answer.text())")).toContain('<svg');
    for (const [path, label] of [
      ['/?from=home', 'first'],
      ['/about', 'about'],
      ['/about.html', 'about'],
    ]) {
      await tab.navigate(`${server.origin}${path}`);
      expect(await tab.evaluate(shown)).toBe(label);
    }
    expect(await tab.evaluate("fetch('/elsewhere').catch(() => 'no network')")).toBe('no network');
    await tab.close();
  });

  test('shows a new build once its service worker takes over, and deletes all files of the old build', async () => {
    const created = app();
    await build(created, { precache: true });
    const server = await serve(created.outDir);
    const tab = await open(`${server.origin}/`);
    const before = await tab.evaluate(kept);
    created.write('main.js', main('second', 'settee'));
    created.write('public/logo one.svg', '<svg xmlns="http://www.w3.org/2000/svg" id="new"/>');
    await build(created, { precache: true });
    await updates(tab);
    const after = await tab.evaluate(kept);
    const assets = (list: unknown) =>
      (Array.isArray(list) ? list : []).filter((path) => /^\/assets\/index-/.test(path));
    expect([assets(before).length, assets(after).length]).toEqual([1, 1]);
    expect(assets(after)).not.toEqual(assets(before));
    expect(Array.isArray(after) && Array.isArray(before) && after.length === before.length).toBe(true);
    await server.close();
    await tab.reload();
    expect(await tab.evaluate(shown)).toBe('second');
    expect(await tab.evaluate("fetch('/logo%20one.svg').then((answer) => answer.text())")).toContain('id="new"');
    await tab.close();
  });

  test('serves its routes from one page if configured so, but no address of the database', async () => {
    const created = app();
    await build(created, { precache: { fallback: 'index.html', exclude: [/^about/] } });
    const server = await serve(created.outDir);
    const tab = await open(`${server.origin}/`);
    await server.close();
    await tab.navigate(`${server.origin}/notes/1?tab=2`);
    expect(await tab.evaluate(shown)).toBe('first');
    await tab.navigate(`${server.origin}/db/notes`);
    expect(await tab.evaluate('document.body.textContent')).toContain('"db_name":"notes"');
    await tab.close();
  });

  test('deletes files that are no longer in its list', async () => {
    const created = app();
    await build(created, { precache: true });
    const server = await serve(created.outDir);
    const tab = await open(`${server.origin}/`);
    expect(await tab.evaluate(kept)).toEqual(expect.arrayContaining(['/about.html', '/index.html', '/logo%20one.svg']));
    await build(created, { precache: { exclude: [/^(about|logo)/] } });
    expect(await tab.evaluate('settee.update()')).toBe(true);
    // A service worker is in control a little before it has tidied up.
    const isKept = async (path: string) => String(await tab.evaluate(kept)).includes(path);
    await expect.poll(() => isKept('/about.html'), patient).toBe(false);
    await expect.poll(() => isKept('/logo%20one.svg'), patient).toBe(false);
    expect(await isKept('/index.html')).toBe(true);
    created.write('main.js', main('second', 'settee'));
    await build(created, {});
    await updates(tab);
    await tab.evaluate('ready');
    await expect.poll(() => tab.evaluate('caches.keys()'), patient).toEqual([]);
    await tab.close();
  });

  test('needs no bundler: a plain list of its files suffices', async () => {
    const created = app();
    const folder = join(created.path, 'site');
    cpSync(join(import.meta.dirname, '../../dist/browser'), folder, { recursive: true });
    const list = (version: string, more = '') =>
      writeFileSync(
        join(folder, 'settee-precache.js'),
        `self.setteePrecache = { version: '${version}', files: ['/', '/main.js', '/settee.js', '/settee-worker.js'${more}] };`,
      );
    const script = (label: string) => {
      const options = "globalThis.options = { serviceWorker: '/settee-sw.js?base=/db/&precache=/settee-precache.js' };";
      writeFileSync(join(folder, 'main.js'), main(label, '/settee.js').replace('document', `${options}\ndocument`));
    };
    writeFileSync(join(folder, 'index.html'), page('/main.js'));
    list('1');
    script('first');
    const server = await serve(folder);
    const tab = await open(`${server.origin}/`);
    script('second');
    list('2');
    await tab.reload();
    expect(await tab.evaluate(shown)).toBe('first');
    await tab.evaluate('ready');
    expect(await tab.evaluate('settee.update()')).toBe(true);
    script('third');
    list('3', ", '/absent.js'");
    await tab.reload();
    await tab.evaluate('ready');
    expect(await tab.evaluate('settee.update()')).toBe(false);
    await server.close();
    await tab.reload();
    expect(await tab.evaluate(shown)).toBe('second');
    await tab.evaluate('ready');
    expect(await tab.evaluate(write('kept'))).toBe(201);
    await tab.close();
  });

  test('loads no list, and no administration page, from another origin', async () => {
    const folder = join(app().path, 'site');
    cpSync(join(import.meta.dirname, '../../dist/browser'), folder, { recursive: true });
    writeFileSync(join(folder, 'settee-precache.js'), "self.setteePrecache = { version: '1', files: [] };");
    writeFileSync(join(folder, 'page.js'), 'self.setteeUtils = { createPage: () => ({ respond() {} }) };');
    writeFileSync(join(folder, 'main.js'), 'globalThis.ready = true;');
    writeFileSync(join(folder, 'index.html'), page('/main.js'));
    const [own, other] = [await serve(folder), await serve(folder)];
    const tab = await open(`${own.origin}/`);
    const registered = (parameters: string) =>
      tab.evaluate(
        `navigator.serviceWorker.register('/settee-sw.js?${parameters}').then(() => 'registered', ({ name }) => name)`,
      );
    expect(await registered('precache=/settee-precache.js')).toBe('registered');
    expect(await registered('utils=/page.js')).toBe('registered');
    expect(await registered(`precache=${other.origin}/settee-precache.js`)).toBe('TypeError');
    expect(await registered(`utils=${other.origin}/page.js`)).toBe('TypeError');
    await tab.close();
  });
});

describe('an app that precaches nothing', () => {
  let created: AppFolder;
  beforeAll(async () => {
    created = createApp({ ...files, 'main.js': main('first', 'settee') });
    await build(created, {});
  });

  test('has the plain service worker, without the precaching script', () => {
    const own = join(import.meta.dirname, '../../dist/browser/settee-sw.js');
    expect(readFileSync(join(created.outDir, 'settee-sw.js'), 'utf8')).toBe(readFileSync(own, 'utf8'));
    expect(() => readFileSync(join(created.outDir, 'settee-sw-precache.js'))).toThrow('ENOENT');
    created.remove();
  });
});
