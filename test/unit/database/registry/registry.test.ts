import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { DatabaseEvent } from '../../../../src/database/registry/contract.ts';
import { REGISTRY_FILE } from '../../../../src/database/registry/database-list.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { Gate, settle, toWrite } from '../store/harness.ts';
import { count, Service, write } from './service.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

describe('databases', () => {
  test('are created, listed in order, reopened after a restart, and deleted', async () => {
    const service = new Service();
    const registry = await service.open();
    for (const name of ['b', 'a/c', 'a', '_users']) await registry.create(name);
    expect(registry.names()).toEqual(['_users', 'a', 'a/c', 'b']);
    await write(registry, 'b', 'x');
    await registry.close();
    const again = await service.open();
    expect(again.names()).toEqual(['_users', 'a', 'a/c', 'b']);
    expect(await count(again, 'b')).toBe(1);
    await again.delete('b');
    expect([again.has('b'), again.has('a')]).toEqual([false, true]);
    await again.close();
    const third = await service.open();
    expect(third.names()).toEqual(['_users', 'a', 'a/c']);
    expect([...service.files()].sort()).toEqual(['a', 'a-c', 'users']);
    await third.close();
  });

  test('can be verified', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await expect(registry.use('a', (database) => database.verify())).resolves.toEqual({
      documents: 0,
      pages: 0,
      damage: [],
      lost: [],
    });
    await registry.close();
  });

  test('fail with the right error for a missing or existing name', async () => {
    const registry = await new Service().open();
    await registry.create('a');
    await expect(registry.create('a')).rejects.toMatchObject({ code: 'file_exists' });
    await expect(registry.create('A')).rejects.toMatchObject({ code: 'illegal_database_name' });
    await expect(registry.delete('b')).rejects.toMatchObject({ code: 'not_found', reason: 'missing' });
    await expect(registry.use('b', async () => 1)).rejects.toMatchObject({ code: 'not_found', reason: 'no_db_file' });
    await expect(registry.acquire('b')).rejects.toMatchObject({ code: 'not_found', reason: 'no_db_file' });
    await registry.close();
  });

  test('of two simultaneous creations of one name one succeeds', async () => {
    const registry = await new Service().open();
    const results = await Promise.allSettled([registry.create('a'), registry.create('a')]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected']);
    await registry.close();
  });

  test('whose names share a readable file name are different', async () => {
    const registry = await new Service().open();
    for (const name of ['a/b', 'a+b', 'a_b']) await registry.create(name);
    await write(registry, 'a/b', 'x');
    expect([await count(registry, 'a/b'), await count(registry, 'a+b')]).toEqual([1, 0]);
    await registry.close();
  });

  test('are released after a use() that failed, whose error is passed on', async () => {
    const registry = await new Service().open({ maxOpen: 1 });
    await registry.create('a');
    await expect(registry.use('a', () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
    await registry.delete('a');
    await registry.close();
  });
});

describe('the service', () => {
  test('keeps its uuid, and gets a new one if the storage comes back empty', async () => {
    const service = new Service();
    const registry = await service.open();
    const { serverUuid } = registry;
    expect(serverUuid).toMatch(/^[0-9a-f]{32}$/);
    const crashed = await service.crashed().open();
    expect(crashed.serverUuid).toBe(serverUuid);
    await registry.close();
    expect((await service.open()).serverUuid).toBe(serverUuid);
    service.medium.files.clear();
    expect((await service.open()).serverUuid).not.toBe(serverUuid);
  });

  test('reports creations, changes and deletions in order', async () => {
    const registry = await new Service().open();
    const events: string[] = [];
    const leave = registry.onEvent((event: DatabaseEvent) => events.push(`${event.type} ${event.name}`));
    await registry.create('a');
    await write(registry, 'a', 'x');
    await write(registry, 'a', 'x');
    await registry.delete('a');
    leave();
    await registry.create('b');
    expect(events).toEqual(['created a', 'updated a', 'deleted a']);
    await registry.close();
  });

  test('accepts no requests once it closes', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await registry.create('b');
    await registry.close();
    await expect(registry.create('c')).rejects.toMatchObject({ code: 'storage_closed' });
    await expect(registry.delete('a')).rejects.toMatchObject({ code: 'storage_closed' });
    await expect(registry.use('a', async () => 1)).rejects.toMatchObject({ code: 'storage_closed' });
  });

  test('closes everything else although one database cannot be closed', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('bad');
    await registry.create('good');
    await write(registry, 'good', 'x');
    const closed: string[] = [];
    service.hooks.beforeClose = (file) => {
      closed.push(file.split('.')[0] ?? '');
      if (file.startsWith('bad')) throw new DatabaseError('storage_failed', 'The test medium broke');
    };
    await expect(registry.close()).rejects.toMatchObject({ code: 'storage_failed' });
    expect([...closed].sort()).toEqual(['bad', 'good', 'registry']);
    const head = JSON.parse(service.medium.files.get(REGISTRY_FILE)?.head ?? '{}');
    expect(head).toMatchObject({ clean: true });
  });
});

describe('deleting a database', () => {
  test('whose file is removed slowly delays no request, not even one for the same name', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await write(registry, 'a', 'old');
    const gate = new Gate();
    service.hooks.beforeDestroy = () => gate.opened;
    await registry.delete('a');
    expect(registry.names()).toEqual([]);
    await registry.create('a');
    await write(registry, 'a', 'new 1');
    await write(registry, 'a', 'new 2');
    await registry.create('b');
    await registry.delete('a');
    await registry.create('a');
    expect([await count(registry, 'a'), registry.names()]).toEqual([0, ['a', 'b']]);
    expect(service.files().filter((file) => file === 'a').length).toBe(3);
    const crashed = service.crashed();
    expect((await crashed.open()).names()).toEqual(['a', 'b']);
    await settle();
    expect([...crashed.files()].sort()).toEqual(['a', 'b']);
    gate.open();
    await settle();
    expect([...service.files()].sort()).toEqual(['a', 'b']);
    await registry.close();
  });

  test("whose file can't be removed succeeds, and is finished at the next start", async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    service.hooks.beforeDestroy = () => Promise.reject(new DatabaseError('storage_blocked', 'A test holds it'));
    await registry.delete('a');
    expect(registry.names()).toEqual([]);
    await registry.create('a');
    await settle();
    expect(service.logged.join()).toContain('could not be removed');
    await registry.close();
    delete service.hooks.beforeDestroy;
    const again = await service.open();
    expect(again.names()).toEqual(['a']);
    await settle();
    expect(service.files()).toEqual(['a']);
    await again.close();
  });

  test('ends all its users with storage_deleted at once, without storing anything more', async () => {
    const service = new Service();
    const registry = await service.open({ settings: { cacheBytes: 0 } });
    await registry.create('a');
    await write(registry, 'a', 'x');
    const { database, release } = await registry.acquire('a');
    await database.compact();
    const snapshot = database.snapshot();
    await database.writeDelayed([toWrite('later')]);
    await registry.delete('a');
    await settle();
    const deleted = { code: 'storage_deleted' };
    await expect(database.write([toWrite('y')], NEW_EDITS)).rejects.toMatchObject(deleted);
    await expect(database.info()).rejects.toMatchObject(deleted);
    expect(() => database.snapshot()).toThrow(expect.objectContaining(deleted));
    const rows = async () => {
      for await (const _batch of snapshot.rows({})) return 'a row';
      return 'none';
    };
    await expect(rows()).rejects.toMatchObject(deleted);
    snapshot.release();
    release();
    expect(service.logged.join()).not.toContain('lost');
    await registry.close();
  });

  test('while it is being opened never turns the late handle into the recreated database', async () => {
    const service = new Service();
    const first = await service.open();
    await first.create('a');
    await write(first, 'a', 'old');
    await first.close();
    const gate = new Gate();
    const registry = await service.open();
    service.hooks.beforeOpen = (_file, mode) => (mode === 'open' ? gate.opened : undefined);
    const late = Promise.resolve(registry.use('a', (db) => db.info())).then(
      () => 'read',
      (error: DatabaseError) => error.code,
    );
    await settle();
    await registry.delete('a');
    await registry.create('a');
    gate.open();
    expect(['storage_deleted', 'storage_missing', 'not_found', 'read']).toContain(await late);
    await settle();
    await write(registry, 'a', 'new 1');
    await write(registry, 'a', 'new 2');
    expect(await count(registry, 'a')).toBe(2);
    await registry.close();
    expect(await count(await service.open(), 'a')).toBe(2);
  });

  test('while it recovers from a crash reports no failure', async () => {
    const before = new Service();
    const first = await before.open();
    await first.create('a');
    await write(first, 'a', 'x');
    const service = before.crashed();
    const registry = await service.open();
    const gate = new Gate();
    service.hooks.beforeCommit = (_commit, file) => (file === REGISTRY_FILE ? undefined : gate.opened);
    const { release } = await registry.acquire('a');
    await settle();
    const deleted = registry.delete('a');
    await settle();
    gate.open();
    await deleted;
    release();
    await registry.close();
    expect(service.logged.filter((message) => /given up|closing the deleted database/.test(message))).toEqual([]);
    expect(service.files()).toEqual([]);
  });

  test('on a full medium tries no checkpoint first', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    for (let index = 0; index < 10; index++) await write(registry, 'a', `d${index}`);
    let refused = 0;
    service.hooks.beforeCommit = (commit, file) => {
      if (file === REGISTRY_FILE) return;
      refused++;
      throw new DatabaseError('storage_full', `No room for ${Object.keys(commit).join()}`);
    };
    await registry.delete('a');
    await settle();
    expect([refused, service.files()]).toEqual([0, []]);
    await registry.close();
  });
});

describe('crashes and refused creations', () => {
  test('leave each database complete or missing after any commit of a creation or deletion, and no extra file', async () => {
    const service = new Service();
    const crashes: { service: Service; names: readonly string[] }[] = [];
    const registry = await service.open();
    const note = () => void crashes.push({ service: service.crashed(), names: registry.names() });
    service.hooks.beforeCommit = note;
    service.hooks.afterCommit = note;
    service.hooks.beforeOpen = note;
    service.hooks.beforeDestroy = note;
    for (const name of ['a', 'b', 'c']) {
      await registry.create(name);
      await write(registry, name, 'x');
    }
    await registry.delete('b');
    await registry.create('b');
    await registry.delete('a');
    await registry.close();
    expect(crashes.length).toBeGreaterThan(30);
    for (const crash of crashes) {
      const again = await crash.service.open();
      await settle();
      // What was under way may have happened or not.
      const difference = [...again.names(), ...crash.names].filter(
        (name) => again.names().includes(name) !== crash.names.includes(name),
      );
      expect(difference.length).toBeLessThanOrEqual(1);
      expect([...crash.service.files()].sort()).toEqual(again.names());
      for (const name of again.names()) expect(await count(again, name)).toBeLessThanOrEqual(1);
      await again.close();
    }
  });

  test('leave files that belong to no database unchanged', async () => {
    const service = new Service();
    const store = createMemoryPageStore({ medium: service.medium });
    const foreign = ['notes.txt', 'copy', 'shop.m3k9x0a1f00d4e5b-copy', 'x.properties'];
    const leftovers = ['shop.m3k9x0a1f00d4e5b', 'shop.m3k9x0a1f00d4e5b.0123abcd'];
    for (const file of [...foreign, ...leftovers]) await (await store.open(file, 'create')).close();
    const registry = await service.open();
    await settle();
    expect([...service.medium.files.keys()].sort()).toEqual([...foreign, REGISTRY_FILE].sort());
    await registry.close();
  });

  test('of a full list leave nothing, and the creation can be tried again', async () => {
    const service = new Service();
    const registry = await service.open();
    let full = true;
    service.hooks.beforeCommit = (_commit, file) => {
      if (full && file === REGISTRY_FILE) throw new DatabaseError('storage_full', 'The test medium is full');
    };
    await expect(registry.create('a')).rejects.toMatchObject({ code: 'storage_full' });
    await settle();
    expect([registry.names(), service.files()]).toEqual([[], []]);
    full = false;
    await registry.create('a');
    await write(registry, 'a', 'x');
    await registry.close();
  });

  test('with an unknown outcome are resolved by the next start, and no listed file is missing', async () => {
    const service = new Service();
    const registry = await service.open();
    service.hooks.afterCommit = (commit, file) => {
      if (file === REGISTRY_FILE && commit.journal !== undefined) throw new DatabaseError('storage_failed', 'Cut off');
    };
    await expect(registry.create('a')).rejects.toMatchObject({ code: 'storage_failed' });
    service.hooks.afterCommit = () => undefined;
    await registry.close().catch(() => undefined);
    const again = await service.open();
    for (const name of again.names()) expect(await count(again, name)).toBe(0);
    await again.close();
  });
});
