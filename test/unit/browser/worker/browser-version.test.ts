import 'fake-indexeddb/auto';
import { readFile } from 'node:fs/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { createIndexedDbPageStore } from '../../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { quickJsPath } from '../../queries/sandbox/quickjs-files.ts';
import { Origin } from './origin.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

const views = { v: { map: 'function (doc) { emit(doc._id, 1); }' } };

/** Opens a tab under a browser's name, asks for the view, and gives the version that its index then has. */
async function versionAfterQuery(origin: Origin, userAgent: string): Promise<string> {
  vi.stubGlobal('navigator', { userAgent });
  const tab = await origin.openTab();
  await tab.ask('PUT', 'db');
  await tab.ask('PUT', 'db/a', {});
  await tab.ask('PUT', 'db/_design/d', { views });
  expect((await tab.ask('GET', 'db/_design/d/_view/v')).json).toMatchObject({ total_rows: 1 });
  await tab.close();
  const { indexedDB, instance } = origin;
  const store = createIndexedDbPageStore({ prefix: `${instance.name}|`, indexedDB });
  const name = must((await store.list()).find((file) => /\.[0-9a-f]{32}$/.test(file)));
  const file = await store.open(name, 'open');
  const { collation }: { collation: string } = JSON.parse(must(file.opening.head));
  await file.close();
  await store.close();
  return collation;
}

test('an index is rebuilt when a browser of another version opens it', async () => {
  vi.stubGlobal('self', { location: { href: 'https://app.example/settee-worker.js' } });
  vi.stubGlobal('fetch', async () => new Response(await readFile(quickJsPath)));
  const origin = new Origin();
  const chrome = (version: number) => `Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/${version}.0.0.0 Safari/537.36`;
  expect(await versionAfterQuery(origin, chrome(130))).toMatch(/ Blink 130$/);
  expect(await versionAfterQuery(origin, chrome(131))).toMatch(/ Blink 131$/);
  await origin.close();
});
