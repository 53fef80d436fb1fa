/** The tag of a list stands for the database as it was read, and costs nothing of what its information costs. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemRandom } from '../../../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../../../../src/storage/memory-page-store.ts';
import type { PageStore } from '../../../../../src/storage/page-store.ts';
import { ask, askJson, clock } from '../../support.ts';

const sizes = vi.fn();
let core: Core;

/** A store that tells when the size of a file is asked for, which may take long. */
function watched(store: PageStore): PageStore {
  return {
    ...store,
    supports: store.supports,
    list: () => store.list(),
    destroy: (file) => store.destroy(file),
    close: () => store.close(),
    async open(name, mode) {
      const file = await store.open(name, mode);
      const size = file.size.bind(file);
      return Object.assign(file, {
        size: () => {
          sizes();
          return size();
        },
      });
    },
  };
}

beforeEach(async () => {
  const storage = watched(createMemoryPageStore());
  core = await createCore({ storage, clock, random: systemRandom, deferred: deferredAtHand() });
  await ask(core, 'PUT /db');
  sizes.mockClear();
});

afterEach(() => core.close());

async function tagOfList(): Promise<string | undefined> {
  return (await ask(core, 'GET /db/_all_docs')).headers['etag'];
}

test('the ETag of a list changes with every write', async () => {
  const tags = [await tagOfList()];
  await ask(core, 'PUT /db/a', { body: '{}' });
  tags.push(await tagOfList());
  const [, answer] = await askJson(core, 'POST /db/_bulk_docs', { body: '{"docs":[{"_id":"a"},{"_id":"b"}]}' });
  expect(answer).toHaveLength(2);
  tags.push(await tagOfList());
  expect(new Set(tags).size).toBe(3);
  expect(await tagOfList()).toBe(tags[2]);
});

test('the ETag of a list answers a conditional read', async () => {
  const tag = await tagOfList();
  const headers = { 'if-none-match': String(tag) };
  expect((await ask(core, 'GET /db/_all_docs', { headers })).status).toBe(304);
  await ask(core, 'PUT /db/a', { body: '{}' });
  expect((await ask(core, 'GET /db/_all_docs', { headers })).status).toBe(200);
});

test('the ETag of a list needs no size of the file, unlike the database info', async () => {
  await tagOfList();
  expect(sizes).not.toHaveBeenCalled();
  await ask(core, 'GET /db');
  expect(sizes).toHaveBeenCalledTimes(1);
});
