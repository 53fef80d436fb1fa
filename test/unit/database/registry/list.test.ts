import { describe, expect, test, vi } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { REGISTRY_FILE } from '../../../../src/database/registry/database-list.ts';
import { databaseFileOf } from '../../../../src/database/registry/database-name.ts';
import type { Commit } from '../../../../src/storage/page-store.ts';
import { patient } from '../../../support/patience.ts';
import { settle } from '../store/harness.ts';
import { count, Service, write } from './service.ts';

const failed = { code: 'storage_failed' };

/** Has the next journal record of the list fail, before or after it was stored; gives back how to have reopening fail. */
function breakList(service: Service, when: 'beforeCommit' | 'afterCommit', reopening: 'works' | 'fails' = 'works') {
  let broken = false;
  service.hooks[when] = (commit: Commit, file: string) => {
    if (broken || file !== REGISTRY_FILE || commit.journal === undefined) return;
    broken = true;
    throw new DatabaseError('storage_failed', 'Cut off');
  };
  const state = { reopening };
  service.hooks.beforeOpen = (file) => {
    if (file === REGISTRY_FILE && state.reopening === 'fails') throw new DatabaseError('storage_failed', 'Still off');
  };
  return state;
}

describe('a list of databases whose storage failed', () => {
  test('has a creation that was stored anyway, without a restart', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('old');
    const events: string[] = [];
    registry.onEvent(({ type, name }) => events.push(`${type} ${name}`));
    breakList(service, 'afterCommit');
    await expect(registry.create('a')).rejects.toMatchObject(failed);
    await settle();
    expect(registry.names()).toEqual(['a', 'old']);
    expect(events).toEqual(['created a']);
    await expect(registry.create('a')).rejects.toMatchObject({ code: 'file_exists' });
    await write(registry, 'a', 'x');
    await registry.create('b');
    await registry.close();
    const again = await service.open();
    expect([again.names(), await count(again, 'a')]).toEqual([['a', 'b', 'old'], 1]);
    await again.close();
  });

  test('lacks a creation that was not stored, and removes its file', async () => {
    const service = new Service();
    const registry = await service.open();
    breakList(service, 'beforeCommit');
    await expect(registry.create('a')).rejects.toMatchObject(failed);
    await settle();
    expect([registry.names(), service.files()]).toEqual([[], []]);
    await registry.create('a');
    await write(registry, 'a', 'x');
    expect([registry.names(), service.files()]).toEqual([['a'], ['a']]);
    await registry.close();
  });

  test('keeps settings, and knows which of them were stored', async () => {
    const service = new Service();
    const registry = await service.open();
    expect(registry.settings).toBeUndefined();
    await registry.keepSettings('{"a":1}');
    breakList(service, 'afterCommit');
    await expect(registry.keepSettings('{"a":2}')).rejects.toMatchObject(failed);
    await settle();
    expect(registry.settings).toBe('{"a":2}');
    await registry.keepSettings('{"a":3}');
    await registry.close();
    const again = await service.crashed().open();
    expect(again.settings).toBe('{"a":3}');
    await again.close();
  });

  test('keeps notes by name, and removes them', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.keepNote('a/ä', '{"a":1}');
    await registry.keepNote('b', '1');
    breakList(service, 'afterCommit');
    await expect(registry.keepNote('a/ä', '{"a":2}')).rejects.toMatchObject(failed);
    await settle();
    await registry.keepNote('a/ä', '{"a":3}');
    await registry.keepNote('b', undefined);
    await registry.keepNote('nothing', undefined);
    expect([...registry.notes]).toEqual([['a/ä', '{"a":3}']]);
    await registry.close();
    const again = await service.open();
    expect([...again.notes]).toEqual([['a/ä', '{"a":3}']]);
    await again.keepNote('c', '2');
    await again.close();
    const crashed = await service.crashed().open();
    expect([...crashed.notes]).toEqual([
      ['a/ä', '{"a":3}'],
      ['c', '2'],
    ]);
    await crashed.close();
  });

  test('keeps the uuid of the service', async () => {
    const service = new Service();
    const registry = await service.open();
    const { serverUuid } = registry;
    breakList(service, 'beforeCommit');
    await expect(registry.create('a')).rejects.toMatchObject(failed);
    await registry.create('a');
    expect(registry.serverUuid).toBe(serverUuid);
    await registry.close();
  });

  test('lacks a database whose deletion was stored anyway, and removes its file', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await write(registry, 'a', 'x');
    const events: string[] = [];
    registry.onEvent(({ type, name }) => events.push(`${type} ${name}`));
    breakList(service, 'afterCommit');
    await expect(registry.delete('a')).rejects.toMatchObject(failed);
    await settle();
    expect([registry.names(), service.files(), events]).toEqual([[], [], ['deleted a']]);
    await expect(registry.use('a', async () => 1)).rejects.toMatchObject({ code: 'not_found' });
    await registry.create('a');
    expect(await count(registry, 'a')).toBe(0);
    await registry.close();
  });

  test('keeps a database whose deletion was not stored, with all its content', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await write(registry, 'a', 'x');
    breakList(service, 'beforeCommit');
    await expect(registry.delete('a')).rejects.toMatchObject(failed);
    await write(registry, 'a', 'y');
    expect([registry.names(), await count(registry, 'a')]).toEqual([['a'], 2]);
    await registry.delete('a');
    expect(registry.names()).toEqual([]);
    await registry.close();
  });

  test('is reopened by the next request if that failed, and other requests are served meanwhile', async () => {
    const service = new Service();
    const registry = await service.open();
    for (const name of ['a', 'b']) await registry.create(name);
    await write(registry, 'a', 'x');
    const state = breakList(service, 'afterCommit', 'fails');
    await expect(registry.delete('a')).rejects.toMatchObject(failed);
    await settle();
    expect(service.logged.join()).toContain('the list of databases could not be opened; the next request tries again');
    await write(registry, 'b', 'x');
    await expect(registry.create('c')).rejects.toMatchObject(failed);
    // What it took now would be lost, should the deletion turn out to have happened.
    await expect(write(registry, 'a', 'y')).rejects.toMatchObject(failed);
    state.reopening = 'works';
    await expect(write(registry, 'a', 'y')).rejects.toMatchObject({ code: 'not_found' });
    await registry.create('c');
    expect(registry.names()).toEqual(['b', 'c']);
    await registry.close();
    expect((await service.open()).names()).toEqual(['b', 'c']);
  });

  test('is read again once by itself if nothing can be written, and then by each request', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    // The file of a deleted database is gone, and the list still has to hear of it.
    let [opened, isBroken] = [0, false];
    service.hooks.beforeOpen = (file) => {
      if (file === REGISTRY_FILE) opened++;
    };
    service.hooks.beforeCommit = (_commit, file) => {
      if (isBroken && file === REGISTRY_FILE) throw new DatabaseError('storage_failed', 'Read only');
    };
    service.hooks.beforeDestroy = () => {
      isBroken = true;
    };
    await registry.delete('a');
    for (let turn = 0; turn < 10; turn++) await settle();
    expect(opened).toBe(1);
    // It has not heard of the failed reading yet, or has.
    await expect(registry.create('b')).rejects.toMatchObject({
      code: expect.stringMatching(/^storage_(?:closed|failed)$/),
    });
    await vi.waitFor(async () => {
      await settle();
      expect(opened).toBe(2);
    }, patient);
    service.hooks.beforeDestroy = () => undefined;
    isBroken = false;
    await registry.create('b');
    expect(registry.names()).toEqual(['b']);
    await registry.close();
  });

  test('closes properly', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    breakList(service, 'afterCommit', 'fails');
    await expect(registry.delete('a')).rejects.toMatchObject(failed);
    await registry.close();
    service.hooks.beforeOpen = () => undefined;
    expect((await service.open()).names()).toEqual([]);
  });
});

test("a deletion that the full list refuses doesn't happen, and succeeds when there is room", async () => {
  const service = new Service();
  const registry = await service.open();
  await registry.create('a');
  await write(registry, 'a', 'x');
  service.hooks.beforeCommit = (_commit, file) => {
    if (file === REGISTRY_FILE) throw new DatabaseError('storage_full', 'The test medium is full');
  };
  await expect(registry.delete('a')).rejects.toMatchObject({ code: 'storage_full' });
  await write(registry, 'a', 'y');
  expect([registry.names(), await count(registry, 'a')]).toEqual([['a'], 2]);
  service.hooks.beforeCommit = () => undefined;
  await registry.delete('a');
  await settle();
  expect([registry.names(), service.files()]).toEqual([[], []]);
  await registry.close();
});

test('removing a file that could not be removed is tried again by the next creation or deletion', async () => {
  const service = new Service();
  const registry = await service.open();
  await registry.create('a');
  service.hooks.beforeDestroy = () => Promise.reject(new DatabaseError('storage_blocked', 'A test holds it'));
  await registry.delete('a');
  await settle();
  expect(service.files()).toEqual(['a']);
  service.hooks.beforeDestroy = () => undefined;
  await registry.create('b');
  await settle();
  expect(service.files()).toEqual(['b']);
  await registry.close();
});

describe('files that belong to a database', () => {
  const copyFile = (service: Service, to: string) => {
    const [file] = [...service.medium.files.entries()].find(([name]) => name !== REGISTRY_FILE) ?? [];
    const content = service.medium.clone().files.get(file ?? '');
    if (file === undefined || content === undefined) throw new Error('there is no database yet');
    service.medium.files.set(to.replace('*', file), content);
  };

  test('are kept at the start, unlike files without a database, and are removed with their database', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await registry.close();
    for (const name of ['*.view-1', '*.view-2.more', '*0', 'other.012345678', 'other.012345678.view-1']) {
      copyFile(service, name);
    }
    const again = await service.open();
    await settle();
    const [file = ''] = [...service.medium.files.keys()].filter((name) => name.split('.').length === 2);
    expect([...service.medium.files.keys()].sort()).toEqual(
      [file, `${file}.view-1`, `${file}.view-2.more`, REGISTRY_FILE].sort(),
    );
    await again.delete('a');
    await settle();
    expect([...service.medium.files.keys()]).toEqual([REGISTRY_FILE]);
    await again.close();
  });

  test('named like the list are removed with their deleted database as well', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('registry');
    copyFile(service, '*.view-1');
    await registry.delete('registry');
    await settle();
    expect([...service.medium.files.keys()]).toEqual([REGISTRY_FILE]);
    await registry.close();
  });

  test.each([
    ['registry', 'registry'],
    ['a-b.kx12ab', 'a-b.kx12ab'],
    ['a-b.kx12ab.view-1', 'a-b.kx12ab'],
    ['a-b.kx12ab.view-1.more', 'a-b.kx12ab'],
  ])('are recognized: %s belongs to %s', (file, database) => {
    expect(databaseFileOf(file)).toBe(database);
  });
});
