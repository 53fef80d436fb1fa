import { expect, test } from 'vitest';
import { must } from '../../../src/shared/assert.ts';
import type { PageStore } from '../../../src/storage/page-store.ts';
import { design, rowsOf, Scene, withReader } from './scene.ts';
import { yearMappers, yearsDesign } from './years.ts';

/** Databases, design documents and index files that go while somebody is about to use them. */
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

async function openScene(): Promise<{ readonly scene: Scene; readonly hooks: Hooks }> {
  const hooks = new Hooks();
  const scene = await Scene.open({ wrap: hooks.wrap, parts });
  await scene.write({ a: { year: 1 }, b: { year: 2 } });
  return { scene, hooks };
}

/** Writes the design document and reads its view. */
async function useView(scene: Scene, name: string): Promise<unknown> {
  const body = { language: 'years', views: { [name]: { map: name } } };
  await scene.write({ [`_design/${name}`]: body });
  return readView(scene, name);
}

async function readView(scene: Scene, name: string): Promise<unknown> {
  const group = await scene.group({ [name]: { map: name } }, { language: 'years' }, name);
  const rows = await withReader(group, (reader) => rowsOf(reader, name));
  group.release();
  return rows.map(([id]) => id);
}

const indexFiles = (scene: Scene) => [...scene.medium.files.keys()].filter((name) => name !== 'db.1');

test('an index is not begun for a database that was deleted', async () => {
  const { scene, hooks } = await openScene();
  // Its files are looked for, and removed, before that of the index is there.
  hooks.beforeCreate = () => scene.database.discard();
  await expect(scene.views.open(scene.database, yearsDesign)).rejects.toMatchObject({ code: 'storage_deleted' });
  expect(indexFiles(scene)).toEqual([]);
  await scene.views.close();
});

test('a clean-up leaves the index of a design document that is written meanwhile', async () => {
  const { scene, hooks } = await openScene();
  hooks.beforeList = async () => {
    hooks.beforeList = async () => undefined;
    expect(await useView(scene, 'late')).toEqual(['a', 'b']);
  };
  await scene.views.cleanup(scene.database);
  expect(indexFiles(scene)).toHaveLength(1);
  await scene.close();
});

test('a clean-up leaves the index of a design document that comes back while others are removed', async () => {
  const { scene, hooks } = await openScene();
  for (const name of ['one', 'two']) {
    await useView(scene, name);
    await scene.write({ [`_design/${name}`]: undefined });
  }
  hooks.beforeDestroy = async () => {
    hooks.beforeDestroy = async () => undefined;
    for (const name of ['one', 'two']) {
      await scene.write({ [`_design/${name}`]: { language: 'years', views: { [name]: { map: name } } } });
    }
  };
  await scene.views.cleanup(scene.database);
  expect(indexFiles(scene)).toHaveLength(1);
  await scene.close();
});

test('an index that is opened while a clean-up removes it is begun anew', async () => {
  const { scene, hooks } = await openScene();
  await useView(scene, 'v');
  await scene.write({ '_design/v': undefined });
  let reading: Promise<unknown> = Promise.resolve();
  hooks.beforeDestroy = async () => {
    reading = useView(scene, 'v');
    await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await scene.views.cleanup(scene.database);
  expect(await reading).toEqual(['a', 'b']);
  expect(indexFiles(scene)).toHaveLength(1);
  await scene.close();
  expect(must(scene.medium.files.get(must(indexFiles(scene)[0]))).head).toBeDefined();
});

test('an index whose file is gone is closed without a word', async () => {
  const { scene } = await openScene();
  const group = await scene.views.open(scene.database, design({ v: { map: 'v' } }, { language: 'years' }));
  await group.read();
  await scene.store.destroy(must(indexFiles(scene)[0]));
  await scene.views.close();
  expect(scene.logged).toEqual([]);
  await scene.database.close();
});
