import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { openDataFolder } from '../../../../src/node/data-folder/data-folder.ts';
import { startServer } from '../../../../src/node/server/server.ts';
import { createLmdbPageStore } from '../../../../src/storage/lmdb/lmdb-page-store.ts';

const put = async (url: string, body: string) => expect((await fetch(url, { method: 'PUT', body })).status).toBe(201);

/** The versions under which the one index in a folder was made. */
async function collationOf(dataFolder: string): Promise<string> {
  const folder = await openDataFolder(dataFolder);
  const store = createLmdbPageStore(folder.databases);
  try {
    const name = must((await store.list()).find((file) => /\.[0-9a-f]{32}$/.test(file)));
    const file = await store.open(name, 'open');
    const { collation }: { collation: string } = JSON.parse(must(file.opening.head));
    await file.close();
    return collation;
  } finally {
    await store.close();
    await folder.release();
  }
}

test('an index records the versions of V8 and ICU that sorted its rows, so that others rebuild it', async () => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'settee-engine-'));
  try {
    const server = await startServer({ port: 0, logLevel: 'error', dataFolder });
    await put(`${server.url}db`, '');
    await put(`${server.url}db/a`, '{}');
    const views = { v: { map: 'function (doc) { emit(doc._id, 1); }' } };
    await put(`${server.url}db/_design/d`, JSON.stringify({ views }));
    expect(await (await fetch(`${server.url}db/_design/d/_view/v`)).json()).toMatchObject({ total_rows: 1 });
    await server.close();
    const { v8, icu } = process.versions;
    const [, engine] = / (.*)$/.exec(await collationOf(dataFolder)) ?? [];
    expect(engine).toBe(`node ${v8}/${icu}`);
  } finally {
    await rm(dataFolder, { recursive: true });
  }
});
