import { describe, expect, test } from 'vitest';
import { patient } from '../support/patience.ts';
import { collectOutcome, type Site, useBrowserSession } from './browser-session.ts';
import { call, type Way } from './controls.ts';
import type { Engine, LaunchOptions, Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** The storage fails underneath a service that runs. */
const base = '/db/';
const database = '/db/notes';
const ways: readonly Way[] = ['settee', 'fetch'];

/** Firefox takes the bound at its start, in KB, for all of its storage; an origin may use all of it that is left. */
const quotaBytes = 20_000_000;
const launch: Readonly<Record<Engine, LaunchOptions>> = {
  chromium: {},
  firefox: { preferences: { 'dom.quotaManager.temporaryStorage.fixedLimit': quotaBytes / 1000 } },
  webkit: {},
};

describe.each(chosenEngines())('the storage in %s', (engine) => {
  const session = useBrowserSession(engine, launch[engine]);
  let site: Site;
  let tab: Tab;

  async function openControl(bound?: number): Promise<void> {
    site = await session.openSite();
    // Before the first access: Chromium looks at the bound no more than every 30 s.
    if (bound !== undefined) await session.browser.limitStorage(site.server.origin, bound);
    tab = await site.open('control');
    await call(tab, 'start', { base });
    expect((await call(tab, 'request', 'settee', 'PUT', database)).status).toBe(201);
  }

  async function serverUuid(way: Way): Promise<unknown> {
    const { status, json } = await call(tab, 'request', way, 'GET', base);
    expect(status).toBe(200);
    return json instanceof Object ? Reflect.get(json, 'uuid') : undefined;
  }

  test.each(ways)(
    'deleted while in use: a request by %s is answered by an empty service with a new uuid',
    async (way) => {
      await openControl();
      await call(tab, 'request', way, 'PUT', `${database}/doc`, {});
      const before = await serverUuid(way);
      expect(await call(tab, 'deleteStorage')).toBeGreaterThan(0);
      expect(await call(tab, 'request', way, 'GET', `${database}/doc`)).toMatchObject({ status: 404 });
      expect(await serverUuid(way)).not.toBe(before);
      expect(await call(tab, 'request', way, 'PUT', database)).toMatchObject({ status: 201 });
      expect(await call(tab, 'request', way, 'PUT', `${database}/doc`, {})).toMatchObject({ status: 201 });
    },
  );

  test('full: writes are answered 507, nothing is half-written, and reads still work', async ({ skip }) => {
    if (engine === 'webkit') skip(String(session.browser.can.limitStorage));
    await openControl(session.browser.can.limitStorage === true ? quotaBytes : undefined);
    expect(await call(tab, 'request', 'settee', 'PUT', `${database}/small`, { n: 1 })).toMatchObject({ status: 201 });
    const { written, refusal } = await call(tab, 'fill', 'settee', database, 5_000_000);
    expect(refusal).toMatchObject({ status: 507, json: { error: 'insufficient_storage' } });
    expect(await call(tab, 'request', 'settee', 'GET', `${database}/large-${written}`)).toMatchObject({ status: 404 });
    expect(await call(tab, 'request', 'settee', 'GET', `${database}/small`)).toMatchObject({
      status: 200,
      json: { n: 1 },
    });
    expect(await call(tab, 'ids', 'settee', database)).toHaveLength(written + 1);
    // There is room for less.
    expect(await call(tab, 'request', 'settee', 'PUT', `${database}/again`, {})).toMatchObject({ status: 201 });
  });

  test('full in the middle of an upload: the upload is answered 507, and no part of it is stored', async ({ skip }) => {
    if (engine !== 'chromium')
      skip('the bound of the others is that of all storage, which the test before has used up');
    if (process.env['SETTEE_CHROMIUM_FEATURES']?.includes('IdbSqliteBackingStore') === true)
      skip('Chromium does not hold a transaction of IndexedDB on SQLite to the bound while it grows');
    await openControl(quotaBytes);
    const upload = (way: Way, id: string, pieces: number) =>
      tab.evaluate(`(async () => {
        const piece = crypto.getRandomValues(new Uint8Array(65_536));
        const body = new Blob(Array.from({ length: ${pieces} }, (_, number) => piece.with(0, number % 256).with(1, number >> 8)));
        const answer = await send('${way}', '${database}/${id}/a', { method: 'PUT', body });
        return [answer.status, (await answer.json()).error ?? null];
      })()`);
    await call(tab, 'request', 'settee', 'PUT', `${database}/small`, { n: 1 });
    for (const way of ways) {
      expect(await upload(way, `large-${way}`, 512)).toEqual([507, 'insufficient_storage']);
      expect(await call(tab, 'request', way, 'GET', `${database}/large-${way}`)).toMatchObject({ status: 404 });
      expect(await call(tab, 'request', way, 'GET', `${database}/small`)).toMatchObject({
        status: 200,
        json: { n: 1 },
      });
    }
    await session.browser.limitStorage(site.server.origin, 10 * quotaBytes);
    // Chromium looks at the bound again within 30 s.
    const later = () => upload('fetch', 'later', 512);
    await expect.poll(later, { ...patient, interval: 500 }).toEqual([201, null]);
    expect(await call(tab, 'ids', 'settee', database)).toEqual(['later', 'small']);
  });
});

/** In a browser of its own: Firefox's bound is that of all storage. */
describe.each(chosenEngines())('a full storage in %s', (engine) => {
  const session = useBrowserSession(engine, launch[engine]);

  test('at the start: reads work, documents and databases can be deleted, and then writes work again', {
    timeout: 300_000,
  }, async ({ skip }) => {
    if (engine === 'webkit') skip(String(session.browser.can.limitStorage));
    const site = await session.openSite();
    if (session.browser.can.limitStorage === true) {
      await session.browser.limitStorage(site.server.origin, quotaBytes);
    }
    const tab = await site.open('control');
    await call(tab, 'start', { base });
    const ask = (method: string, path: string, json?: unknown) => call(tab, 'request', 'settee', method, path, json);
    for (const name of ['notes', 'second', 'third'])
      expect(await ask('PUT', `/db/${name}`)).toMatchObject({ status: 201 });
    const docs = Array.from({ length: 200 }, (_, number) => ({ _id: `doc-${number}`, text: `${number}`.repeat(200) }));
    for (const path of [database, '/db/second', '/db/third']) {
      expect(await ask('POST', `${path}/_bulk_docs`, { docs })).toMatchObject({ status: 201 });
    }
    await expect.poll(() => reservedParts(tab), patient).toEqual(['deletions', 'upkeep']);
    const written = await fillWholly(tab, database);
    const before = await everything(tab);
    expect(before.get(database)).toHaveLength(200 + written);

    await tab.reload();
    await call(tab, 'start', { base });
    expect(await everything(tab)).toEqual(before);
    const changes = await ask('GET', `${database}/_changes`);
    expect(Object(changes.json).results).toHaveLength(200 + written);
    for (const id of ['doc-0', 'doc-1', 'doc-2']) await deleteDocument(tab, `${database}/${id}`);

    await tab.reload();
    await call(tab, 'start', { base });
    await deleteDocument(tab, '/db/second/doc-3');
    for (const name of ['third', 'second']) expect(await ask('DELETE', `/db/${name}`)).toMatchObject({ status: 200 });
    expect((await ask('GET', '/db/_all_dbs')).json).toEqual(['notes']);
    // Chromium counts what was freed late.
    const write = async () => (await ask('PUT', `${database}/again`, { n: 1 })).status;
    await expect.poll(write, { timeout: 120_000, interval: 1000 }).toBe(201);

    await tab.reload();
    await call(tab, 'start', { base });
    const left = before.get(database)?.filter((id) => !['doc-0', 'doc-1', 'doc-2'].includes(id)) ?? [];
    expect(await everything(tab)).toEqual(new Map([[database, ['again', ...left].sort()]]));
  });

  test('with a bound below what is stored: reads work, and writes work again once there is room', {
    timeout: 300_000,
  }, async ({ skip }) => {
    if (session.browser.can.limitStorage !== true) skip('its bound is set when it starts');
    const site = await session.openSite();
    await session.browser.limitStorage(site.server.origin, quotaBytes);
    const tab = await site.open('control');
    await call(tab, 'start', { base });
    const ask = (method: string, path: string, json?: unknown) => call(tab, 'request', 'settee', method, path, json);
    expect(await ask('PUT', database)).toMatchObject({ status: 201 });
    // Records of some length come together, so that a part of the journal is in files.
    for (let number = 0; number < 30; number += 1) {
      expect(await ask('PUT', `${database}/doc-${number}`, { number })).toMatchObject({ status: 201 });
    }
    await fillWholly(tab, database);
    const before = await everything(tab);
    await session.browser.limitStorage(site.server.origin, quotaBytes / 4);

    await tab.reload();
    await call(tab, 'start', { base });
    expect(await everything(tab)).toEqual(before);
    expect(await ask('GET', `${database}/doc-7`)).toMatchObject({ status: 200, json: { number: 7 } });
    // What is small may still fit into what Chromium allotted before.
    expect(await ask('PUT', `${database}/large`, { text: 'x'.repeat(5_000_000) })).toMatchObject({ status: 507 });
    expect(await everything(tab)).toEqual(before);

    await session.browser.limitStorage(site.server.origin, 3 * quotaBytes);
    const write = async () => (await ask('PUT', `${database}/again`, { n: 1 })).status;
    await expect.poll(write, { timeout: 120_000, interval: 1000 }).toBe(201);
    await tab.reload();
    await call(tab, 'start', { base });
    expect(await everything(tab)).toEqual(new Map([[database, ['again', ...(before.get(database) ?? [])].sort()]]));
  });
});

describe.each(chosenEngines())('a storage without a bound in %s', (engine) => {
  const session = useBrowserSession(engine);

  test('full according to a wrapper around the storage: writes are answered 507, nothing is half-written, and reads still work', async () => {
    const site = await session.openSite();
    const outcome = await collectOutcome(await site.open('worker-suite', { worker: 'full-storage' }), session.browser);
    expect(outcome.failed).toEqual([]);
    expect(outcome.passed).toEqual([
      'full: 507, nothing half-written, and it reads on',
      'full in an upload: 507, and nothing of it is stored',
    ]);
  });
});

/** The parts of the reserve that are there. */
async function reservedParts(tab: Tab): Promise<string[]> {
  const names = await tab.evaluate('indexedDB.databases().then((all) => all.map(({ name }) => name))');
  return String(names)
    .split(',')
    .flatMap((name) => /_reserve\.(deletions|upkeep)$/.exec(name)?.[1] ?? [])
    .sort();
}

/** Fills the database until nothing is taken; gives how many documents that were. */
async function fillWholly(tab: Tab, path: string): Promise<number> {
  const written = await tab.evaluate(`(async () => {
    let written = 0;
    for (const bytes of [1_000_000, 100_000, 10_000, 1_000, 10]) {
      for (;;) {
        const text = [...crypto.getRandomValues(new Uint8Array(Math.ceil(bytes / 20)))].map((byte) => byte.toString(36)).join('').repeat(10).slice(0, bytes);
        const answer = await send('settee', '${path}/large-' + written, { method: 'PUT', body: JSON.stringify({ text }) });
        if (answer.status === 507) break;
        if (answer.status !== 201) throw new Error('a write was answered ' + answer.status);
        written += 1;
      }
    }
    return written;
  })()`);
  return Number(written);
}

/** The ids in each database. */
async function everything(tab: Tab): Promise<Map<string, string[]>> {
  const { json } = await call(tab, 'request', 'settee', 'GET', '/db/_all_dbs');
  const found = new Map<string, string[]>();
  for (const name of json as string[]) found.set(`/db/${name}`, await call(tab, 'ids', 'settee', `/db/${name}`));
  return found;
}

async function deleteDocument(tab: Tab, path: string): Promise<void> {
  const { json } = await call(tab, 'request', 'settee', 'GET', path);
  const deleted = await call(tab, 'request', 'settee', 'DELETE', `${path}?rev=${Object(json)._rev}`);
  expect(deleted).toMatchObject({ status: 200 });
}
