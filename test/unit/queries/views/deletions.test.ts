import { expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import type { PageStore } from '../../../../src/storage/page-store.ts';
import { design, rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';
import { yearMappers, yearsDesign } from './year-mapper.ts';

/** Databases, design documents and index files that are removed while they are about to be used. */
const parts = { mappers: yearMappers, settings: { idleMs: 1 } };

/** A store whose calls have something happen before them. */
class Hooks {
  beforeList: () => Promise<unknown> = async () => undefined;
  beforeCreate: () => Promise<unknown> = async () => undefined;
  beforeDestroy: () => Promise<unknown> = async () => undefined;

  readonly wrap = (store: PageStore): PageStore => ({
    supports: store.supports,
    list: async () => {
      await this.beforeList();
      return store.list();
    },
    open: async (name, mode) => {
      if (mode === 'create') await this.beforeCreate();
      return store.open(name, mode);
    },
    destroy: async (name) => {
      await this.beforeDestroy();
      await store.destroy(name);
    },
    close: () => store.close(),
  });
}

async function openFixture(): Promise<{ readonly fixture: ViewFixture; readonly hooks: Hooks }> {
  const hooks = new Hooks();
  const fixture = await ViewFixture.open({ wrap: hooks.wrap, parts });
  await fixture.write({ a: { year: 1 }, b: { year: 2 } });
  return { fixture, hooks };
}

/** Writes the design document and reads its view. */
async function useView(fixture: ViewFixture, name: string): Promise<unknown> {
  const body = { language: 'years', views: { [name]: { map: name } } };
  await fixture.write({ [`_design/${name}`]: body });
  return readView(fixture, name);
}

async function readView(fixture: ViewFixture, name: string): Promise<unknown> {
  const group = await fixture.group({ [name]: { map: name } }, { language: 'years' }, name);
  const rows = await withReader(group, (reader) => rowsOf(reader, name));
  group.release();
  return rows.map(([id]) => id);
}

const indexFiles = (fixture: ViewFixture) => [...fixture.medium.files.keys()].filter((name) => name !== 'db.1');

test('no index is created for a deleted database', async () => {
  const { fixture, hooks } = await openFixture();
  // Its files are looked for, and removed, before that of the index is there.
  hooks.beforeCreate = () => fixture.database.discard();
  await expect(fixture.views.open(fixture.database, yearsDesign)).rejects.toMatchObject({ code: 'storage_deleted' });
  expect(indexFiles(fixture)).toEqual([]);
  await fixture.views.close();
});

test('a clean-up keeps the index of a design document that is written meanwhile', async () => {
  const { fixture, hooks } = await openFixture();
  hooks.beforeList = async () => {
    hooks.beforeList = async () => undefined;
    expect(await useView(fixture, 'late')).toEqual(['a', 'b']);
  };
  await fixture.views.cleanup(fixture.database);
  expect(indexFiles(fixture)).toHaveLength(1);
  await fixture.close();
});

test('a clean-up keeps the index of a design document that is written again while others are removed', async () => {
  const { fixture, hooks } = await openFixture();
  for (const name of ['one', 'two']) {
    await useView(fixture, name);
    await fixture.write({ [`_design/${name}`]: undefined });
  }
  hooks.beforeDestroy = async () => {
    hooks.beforeDestroy = async () => undefined;
    for (const name of ['one', 'two']) {
      await fixture.write({ [`_design/${name}`]: { language: 'years', views: { [name]: { map: name } } } });
    }
  };
  await fixture.views.cleanup(fixture.database);
  expect(indexFiles(fixture)).toHaveLength(1);
  await fixture.close();
});

test('an index that is opened while a clean-up removes it is rebuilt', async () => {
  const { fixture, hooks } = await openFixture();
  await useView(fixture, 'v');
  await fixture.write({ '_design/v': undefined });
  let reading: Promise<unknown> = Promise.resolve();
  hooks.beforeDestroy = async () => {
    reading = useView(fixture, 'v');
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await fixture.views.cleanup(fixture.database);
  expect(await reading).toEqual(['a', 'b']);
  expect(indexFiles(fixture)).toHaveLength(1);
  await fixture.close();
  expect(must(fixture.medium.files.get(must(indexFiles(fixture)[0]))).head).toBeDefined();
});

test('an index whose file was removed is closed without a log entry', async () => {
  const { fixture } = await openFixture();
  const group = await fixture.views.open(fixture.database, design({ v: { map: 'v' } }, { language: 'years' }));
  await group.read();
  await fixture.store.destroy(must(indexFiles(fixture)[0]));
  await fixture.views.close();
  expect(fixture.logged).toEqual([]);
  await fixture.database.close();
});
