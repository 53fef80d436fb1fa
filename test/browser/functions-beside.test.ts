import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Site, useBrowserSession } from './browser-session.ts';
import { type Beside, call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/**
 * Functions come with documents from strangers, and run in workers of their own: whatever one does, the documents of other databases are
 * read as before. And what becomes of functions where such a worker is stuck, or can't be started.
 */
const FILE = '/settee-sandbox.js';
const script = readFileSync(join(import.meta.dirname, '../../dist/browser', FILE), 'utf8');
const ofAnotherBuild = script.replace(/(["'`])(\d+ )?[0-9a-f]{16}\1/, '$1$20123456789abcdef$1');

/** Milliseconds. */
const limits = { medianBeyondQuiet: 5, longest: 100 };
const QUIET_MS = 400;
/** The first call loads the engine, and a machine that does other work may be late. A function that holds the thread does so every time. */
const ATTEMPTS = 4;

const endless = 'while (true);';
const emitting = 'function (doc) { emit(doc.n, null); }';
const emitView = { views: { v: { map: emitting } } };
const slow = 'function (doc) { var until = Date.now() + 40; while (Date.now() < until); emit(doc.n, null); }';

describe.each(chosenEngines())('functions of documents in %s', (engine) => {
  const session = useBrowserSession(engine);
  let site: Site;

  /** A page with a database that has 20 documents and the design document, and one that others read. */
  async function begin(design: object, timeoutMs = 500, intercept?: (site: Site) => void): Promise<Tab> {
    site = await session.openSite();
    intercept?.(site);
    const tab = await site.open('control');
    await call(tab, 'start', { base: '/db/', settings: { svc: { os_process_timeout: `${timeoutMs}` } } });
    for (const path of ['/db/neighbour', '/db/neighbour/doc', '/db/strange']) {
      expect(await call(tab, 'request', 'settee', 'PUT', path, path.endsWith('doc') ? {} : null)).toMatchObject({
        status: 201,
      });
    }
    const docs = Array.from({ length: 20 }, (_, n) => ({ _id: `doc-${n}`, n }));
    await call(tab, 'request', 'settee', 'POST', '/db/strange/_bulk_docs', { docs });
    const written = await call(tab, 'request', 'settee', 'PUT', '/db/strange/_design/d', design);
    expect(written).toMatchObject({ status: 201 });
    return tab;
  }

  const query = (tab: Tab) => call(tab, 'request', 'settee', 'GET', '/db/strange/_design/d/_view/v');
  const loads = () => site.server.seen.filter((path) => path === FILE).length;

  const attacks: readonly (readonly [string, object, Beside])[] = [
    ['a map', { views: { v: { map: `function () { ${endless} }` } } }, ['GET', '/db/strange/_design/d/_view/v']],
    [
      'a reduce',
      { views: { v: { map: emitting, reduce: `function () { ${endless} }` } } },
      ['GET', '/db/strange/_design/d/_view/v'],
    ],
    ['a show', { shows: { s: `function () { ${endless} }` } }, ['GET', '/db/strange/_design/d/_show/s']],
    [
      'a validator',
      { validate_doc_update: `function (doc) { if (doc.bad) { ${endless} } }` },
      ['PUT', '/db/strange/x', { bad: true }],
    ],
  ];

  test.for(attacks)("%s without end doesn't delay other requests", async ([, design, beside]) => {
    const tab = await begin(design);
    let seen = '';
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const quiet = await measure(tab, QUIET_MS);
      const { answer, ...disturbed } = await measure(tab, beside);
      expect(answer).toMatchObject({ status: 500, json: { error: 'os_process_error' } });
      seen = `${show(disturbed)} (quiet: ${show(quiet)})`;
      console.info(`${engine}: ${seen}`);
      const isUndisturbed =
        disturbed.longest <= limits.longest && disturbed.median <= quiet.median + limits.medianBeyondQuiet;
      if (isUndisturbed) return;
    }
    expect.fail(`a reader was held up: ${seen}`);
  });

  test('a worker that is stuck in a map function is terminated, and another one replaces it', async () => {
    const stuck = `
      const stickInMap = ({ data }) => { if (data?.call?.operation === 'map') for (;;); };
      addEventListener('message', (event) => {
        stickInMap(event);
        // Where the page starts the workers, as in Firefox, calls come by this port.
        event.ports[0]?.addEventListener('message', stickInMap);
      });
      ${script}`;
    let isFirst = true;
    const tab = await begin({ views: { v: { map: slow } } }, 3_000, ({ server }) =>
      server.intercept(({ url }, response) => {
        if (url !== FILE || !isFirst) return false;
        isFirst = false;
        response.writeHead(200, { 'content-type': 'text/javascript' }).end(stuck);
        return true;
      }),
    );
    expect(await query(tab)).toMatchObject({ status: 200, json: { total_rows: 20 } });
    expect(loads()).toBeGreaterThan(1);
  });

  test('run in the service worker when no page is open, with a tenth of its time', async () => {
    const tab = await begin({ views: { v: { map: `function () { ${endless} }` } } });
    expect(await call(tab, 'request', 'settee', 'PUT', '/db/strange/_design/e', emitView)).toMatchObject({
      status: 201,
    });
    await call(tab, 'close');
    const before = loads();
    const harmless = await call(tab, 'request', 'fetch', 'GET', '/db/strange/_design/e/_view/v?limit=1');
    expect(harmless).toMatchObject({ status: 200, json: { total_rows: 20 } });
    const { status, json, ms } = await call(tab, 'request', 'fetch', 'GET', '/db/strange/_design/d/_view/v');
    expect([status, json]).toMatchObject([500, { error: 'os_process_error' }]);
    // It has its own settings: 5 s for a function, which would be used up twice. The first query shows how quick the machine is.
    expect(ms).toBeLessThan(8_000 + 3 * harmless.ms);
    expect(loads()).toBe(before);
  });

  test.for([
    ['is missing', { status: 404, text: 'gone' }],
    ['is of another build', { status: 200, text: ofAnotherBuild }],
  ] as const)("run in the request thread if the sandbox worker's script %s", async ([, { status, text }]) => {
    const tab = await begin({ views: { v: { map: slow } } }, 5_000, ({ server }) =>
      server.intercept(({ url }, response) => {
        if (url !== FILE) return false;
        response.writeHead(status, { 'content-type': 'text/javascript' }).end(text);
        return true;
      }),
    );
    const before = session.browser.messages.length;
    expect(await query(tab)).toMatchObject({ status: 200, json: { total_rows: 20 } });
    // Firefox now and then stops a worker for good that is about to start another one. The page ends it then, and the next one tries anew.
    expect(engine === 'firefox' ? [3, 4, 5] : [3]).toContain(loads());
    // The driver of WebKit does not hear workers.
    if (engine === 'webkit') return;
    const complaints = session.browser.messages
      .slice(before)
      .join('\n')
      .match(/No worker for functions/g);
    expect(complaints).toHaveLength(1);
  });
});

interface Latencies {
  readonly median: number;
  readonly longest: number;
  readonly count: number;
}

async function measure(tab: Tab, beside: Beside | number) {
  const { latencies, answer } = await call(tab, 'readBeside', 'settee', '/db/neighbour/doc', beside);
  const sorted = latencies.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return { median, longest: sorted.at(-1) ?? 0, count: sorted.length, answer };
}

function show({ median, longest, count }: Latencies): string {
  return `median ${median.toFixed(1)} ms, longest ${longest.toFixed(1)} ms of ${count}`;
}
