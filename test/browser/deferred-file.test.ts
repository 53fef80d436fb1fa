import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { type BrowserSession, openBrowserSession, type Site } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** What the worker of a page loads on first use: when it does, and what happens where it can't. */
const FILE = '/settee-functions.js';
const script = readFileSync(join(import.meta.dirname, '../../dist/browser', FILE), 'utf8');
const otherBuild = script.replace(/settee [0-9a-f]{16}/, 'settee of-another-day');

describe.each(chosenEngines())('the script that the worker loads on first use, in %s', (engine) => {
  let session: BrowserSession;
  let site: Site;
  let tab: Tab;
  /** What the server answers for it; undefined for the file itself. */
  let instead: { readonly file?: string; readonly status: number; readonly text: string } | undefined;

  beforeAll(async () => {
    session = await openBrowserSession(engine);
  });
  afterAll(() => session?.close());
  afterEach(({ task }) => {
    if (task.result?.state === 'fail') console.info(session?.browser.messages.slice(-30).join('\n'));
  });
  beforeEach(async () => {
    instead = undefined;
    site = await session.openSite();
    site.server.intercept((request, response) => {
      if (instead === undefined || request.url?.startsWith(instead.file ?? FILE) !== true) return false;
      response.writeHead(instead.status, { 'content-type': 'text/javascript' }).end(instead.text);
      return true;
    });
    tab = await site.open('control');
  });

  /** Starts the service, with one document and a view of it. */
  async function begin(worker = '/settee-worker.js'): Promise<void> {
    await call(tab, 'start', { base: '/db/', worker });
    await call(tab, 'request', 'settee', 'PUT', '/db/notes');
    await call(tab, 'request', 'settee', 'PUT', '/db/notes/a', { n: 1 });
  }

  const addView = () =>
    call(tab, 'request', 'settee', 'PUT', '/db/notes/_design/d', {
      views: { v: { map: 'function (doc) { emit(doc.n, null); }' } },
    });
  const query = () => call(tab, 'request', 'fetch', 'GET', '/db/notes/_design/d/_view/v');
  const loads = () => site.server.seen.filter((path) => path.startsWith(FILE));

  test('is not needed to write, read, list, change and delete documents', async () => {
    await begin();
    const docs = [{ _id: 'b', tags: ['x', { y: 'ü"\\' }] }, { n: 1.5 }];
    const bulk = await call(tab, 'request', 'settee', 'POST', '/db/notes/_bulk_docs', { docs });
    expect(bulk).toMatchObject({ status: 201, json: [{ ok: true, id: 'b' }, { ok: true }] });
    const replicated = {
      new_edits: false,
      docs: [{ _id: 'c', _rev: '2-x', _revisions: { start: 2, ids: ['x', 'w'] } }],
    };
    expect(await call(tab, 'request', 'settee', 'POST', '/db/notes/_bulk_docs', replicated)).toMatchObject({
      json: [],
    });
    const read = await call(tab, 'request', 'settee', 'GET', '/db/notes/c?rev=2-x');
    expect(read).toMatchObject({ status: 200, json: { _id: 'c', _rev: '2-x' } });
    const changed = { _rev: '2-x', n: 2 };
    expect(await call(tab, 'request', 'settee', 'PUT', '/db/notes/c', changed)).toMatchObject({ status: 201 });
    const list = await call(tab, 'request', 'settee', 'GET', '/db/notes/_all_docs?include_docs=true');
    expect(list).toMatchObject({ status: 200, json: { total_rows: 4 } });
    expect(await call(tab, 'request', 'settee', 'DELETE', '/db/notes/a')).toMatchObject({ status: 409 });
    expect(loads()).toEqual([]);
  });

  test('is not needed for a document that has a name twice, of which the last one counts', async () => {
    await begin();
    const put = `fetch('/db/notes/d', { method: 'PUT', body: '{"a":1,"b":2,"a":3}' }).then(({ status }) => status)`;
    expect(await tab.evaluate(put)).toBe(201);
    expect(await call(tab, 'request', 'settee', 'GET', '/db/notes/d')).toMatchObject({ json: { a: 3, b: 2 } });
    expect(loads()).toHaveLength(0);
  });

  test('is loaded once, by the first request that needs it, also by a worker whose address has a query', async () => {
    await begin('/settee-worker.js?v=7');
    expect(loads()).toEqual([]);
    await addView();
    expect(await query()).toMatchObject({ status: 200, json: { rows: [{ id: 'a', key: 1 }] } });
    expect(await query()).toMatchObject({ status: 200 });
    expect(loads()).toEqual([FILE]);
  });

  test.for([
    ['is missing', { status: 404, text: 'gone' }],
    ['is of another build', { status: 200, text: otherBuild }],
  ] as const)(
    'where it %s, requests that need it are answered 503, document requests still work, and loading is retried',
    async ([, answer]) => {
      await begin();
      instead = answer;
      await addView();
      const refused = await query();
      expect(refused).toMatchObject({ status: 503, json: { error: 'functions_unavailable' } });
      expect(refused.json).toMatchObject({
        reason: expect.stringContaining("in the same folder as the worker's script, and of the same version"),
      });
      expect(await call(tab, 'request', 'fetch', 'GET', '/db/notes/a')).toMatchObject({ status: 200 });
      instead = undefined;
      expect(await query()).toMatchObject({ status: 200, json: { rows: [{ id: 'a', key: 1 }] } });
      expect(loads().at(-1)).toMatch(/\?attempt=\d$/);
    },
  );

  test('is loaded even if the server is busy at first', async () => {
    await begin();
    let refused = 0;
    site.server.intercept((request, response) => {
      if (refused > 0 || request.url?.startsWith(FILE) !== true) return false;
      refused += 1;
      response.writeHead(503).end();
      return true;
    });
    const find = await call(tab, 'request', 'settee', 'POST', '/db/notes/_find', { selector: { n: 1 } });
    expect(find).toMatchObject({ status: 200, json: { docs: [{ _id: 'a' }] } });
    expect(refused).toBe(1);
  });

  test('is loaded together with QuickJS when a design document with functions is written, and without QuickJS if it has no functions', async () => {
    await begin();
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    site.server.intercept((request, response) => {
      if (request.url?.startsWith(FILE) !== true) return false;
      void held.then(() => response.writeHead(200, { 'content-type': 'text/javascript' }).end(script));
      return true;
    });
    const engineFiles = () => site.server.seen.filter((path) => /sandbox|quickjs/.test(path)).sort();
    await call(tab, 'request', 'settee', 'PUT', '/db/notes/_design/q', { language: 'query', views: {} });
    await expect.poll(loads, patient).toHaveLength(1);
    expect(engineFiles()).toEqual([]);
    await addView();
    await expect.poll(engineFiles, patient).toEqual(['/settee-quickjs.wasm', '/settee-sandbox.js']);
    letGo();
    expect(await query()).toMatchObject({ status: 200, json: { rows: [{ id: 'a', key: 1 }] } });
    expect(engineFiles().filter((path) => path.endsWith('.wasm'))).toHaveLength(1);
  });

  test("if QuickJS can't be loaded, queries are answered 503, and loading is retried", async () => {
    await begin();
    instead = { file: '/settee-quickjs.wasm', status: 404, text: 'gone' };
    await addView();
    expect(await query()).toMatchObject({
      status: 503,
      json: {
        error: 'functions_unavailable',
        reason: expect.stringContaining(
          "settee-quickjs.wasm was answered with 404; the file must be in the same folder as the worker's script",
        ),
      },
    });
    instead = undefined;
    expect(await query()).toMatchObject({ status: 200, json: { rows: [{ id: 'a', key: 1 }] } });
  });
});
