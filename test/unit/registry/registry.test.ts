import { describe, expect, test } from 'vitest';
import type { DatabaseSettings } from '../../../src/database/settings.ts';
import { DatabaseError } from '../../../src/errors/database-error.ts';
import type { DatabaseEvent, Registry } from '../../../src/registry/contract.ts';
import { openRegistry, REGISTRY_FILE } from '../../../src/registry/registry.ts';
import { MemoryMedium } from '../../../src/storage/memory/memory-medium.ts';
import { createMemoryPageStore } from '../../../src/storage/memory/memory-page-store.ts';
import { createConfig } from '../../../src/system/config.ts';
import {
  Gate,
  HookedStore,
  leavesOf,
  ManualClock,
  put,
  type StorageHooks,
  settle,
  toWrite,
} from '../database/harness.ts';

class Service {
  readonly medium: MemoryMedium;
  readonly hooks: StorageHooks = {};
  readonly clock = new ManualClock();
  readonly logged: string[] = [];
  #random = 0;

  constructor(medium = new MemoryMedium()) {
    this.medium = medium;
  }

  open(options: { maxOpen?: number; settings?: Partial<DatabaseSettings> } = {}): Promise<Registry> {
    const add = (message: string) => this.logged.push(message);
    return openRegistry({
      store: new HookedStore(createMemoryPageStore({ medium: this.medium }), this.hooks),
      clock: this.clock,
      random: (bytes) => {
        for (let index = 0; index < bytes.length; index++) bytes[index] = this.#random++;
        return bytes;
      },
      config: createConfig({ svc: { max_dbs_open: String(options.maxOpen ?? 100) } }),
      log: { error: add, info: add, debug: add },
      settings: options.settings ?? {},
    });
  }

  crashed(): Service {
    return new Service(this.medium.clone());
  }

  files(): string[] {
    return [...this.medium.files.keys()]
      .filter((file) => file !== REGISTRY_FILE)
      .map((file) => file.split('.')[0] ?? '');
  }
}

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

async function write(registry: Registry, database: string, name: string): Promise<void> {
  await registry.use(database, (db) => db.write([toWrite(name)], NEW_EDITS));
}

async function count(registry: Registry, database: string): Promise<number> {
  return registry.use(database, async (db) => (await db.info()).docCount);
}

describe('databases', () => {
  test('are created, listed in order, found again after a restart, and deleted', async () => {
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

  test('fail by name', async () => {
    const registry = await new Service().open();
    await registry.create('a');
    await expect(registry.create('a')).rejects.toMatchObject({ code: 'file_exists' });
    await expect(registry.create('A')).rejects.toMatchObject({ code: 'illegal_database_name' });
    await expect(registry.delete('b')).rejects.toMatchObject({ code: 'not_found', reason: 'missing' });
    await expect(registry.use('b', async () => 1)).rejects.toMatchObject({ code: 'not_found', reason: 'no_db_file' });
    await expect(registry.acquire('b')).rejects.toMatchObject({ code: 'not_found', reason: 'no_db_file' });
    await registry.close();
  });

  test('two creations of one name at once: one succeeds', async () => {
    const registry = await new Service().open();
    const results = await Promise.allSettled([registry.create('a'), registry.create('a')]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected']);
    await registry.close();
  });

  test('names that share a readable file name are different databases', async () => {
    const registry = await new Service().open();
    for (const name of ['a/b', 'a+b', 'a_b']) await registry.create(name);
    await write(registry, 'a/b', 'x');
    expect([await count(registry, 'a/b'), await count(registry, 'a+b')]).toEqual([1, 0]);
    await registry.close();
  });

  test('a failed `use` passes its error on and lets go', async () => {
    const registry = await new Service().open({ maxOpen: 1 });
    await registry.create('a');
    await expect(registry.use('a', () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
    await registry.delete('a');
    await registry.close();
  });
});

describe('the service', () => {
  test('keeps its uuid, and has a new one where the storage came back empty', async () => {
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

  test('tells of creations, changes and deletions, in their order', async () => {
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

  test('takes nothing more once it closes', async () => {
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

describe('deletion', () => {
  test('of a database whose file is slow to go holds up nobody, not even its own name', async () => {
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

  test('whose file cannot be removed has happened all the same, and is finished at the next start', async () => {
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

  test('ends what uses the database with storage_deleted, at once and without storing anything more', async () => {
    const service = new Service();
    const registry = await service.open({ settings: { cacheBytes: 0 } });
    await registry.create('a');
    await write(registry, 'a', 'x');
    const { database, release } = await registry.acquire('a');
    await database.compact();
    const snapshot = database.snapshot();
    database.writeLater([toWrite('later')]);
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

  test('while the database is being opened: the late handle never becomes the new one', async () => {
    const service = new Service();
    const first = await service.open();
    await first.create('a');
    await write(first, 'a', 'old');
    await first.close();
    const gate = new Gate();
    const registry = await service.open();
    service.hooks.beforeOpen = (_file, mode) => (mode === 'open' ? gate.opened : undefined);
    const late = registry
      .use('a', (db) => db.info())
      .then(
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

  test('with a full medium: no checkpoint is tried first', async () => {
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

describe('a crash', () => {
  test('at any commit of creations and deletions leaves each database whole or not there, and no file too many', async () => {
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

  test('a creation that the full list refused leaves nothing behind and can be tried again', async () => {
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

  test('a creation whose outcome is unknown is found out by the next start, and no listed file is missing', async () => {
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

describe('open handles', () => {
  test('300 databases keep at most max_dbs_open files open, and none loses anything', async () => {
    const service = new Service();
    const open = new Set<string>();
    let most = 0;
    service.hooks.beforeOpen = (file) => {
      open.add(file);
      most = Math.max(most, open.size);
    };
    service.hooks.beforeClose = (file) => void open.delete(file);
    const registry = await service.open({ maxOpen: 10 });
    const names = Array.from({ length: 300 }, (_unused, index) => `db${index}`);
    for (const name of names) {
      await registry.create(name);
      await write(registry, name, 'first');
    }
    // The list itself, and one that is closed while the next is opened already.
    expect(most).toBeLessThanOrEqual(12);
    await Promise.all(names.map((name) => write(registry, name, 'second')));
    await settle();
    expect(open.size).toBeLessThanOrEqual(11);
    for (const name of names) expect(await count(registry, name)).toBe(2);
    await settle();
    expect(open.size).toBeLessThanOrEqual(11);
    await registry.close();
    expect(open.size).toBe(0);
  });

  test('one in use stays open, however many others are opened', async () => {
    const registry = await new Service().open({ maxOpen: 1 });
    for (const name of ['a', 'b', 'c']) await registry.create(name);
    const leases = [await registry.acquire('a'), await registry.acquire('b'), await registry.acquire('c')];
    for (const { database } of leases) expect((await database.info()).docCount).toBe(0);
    await write(registry, 'a', 'x');
    for (const { release } of leases) release();
    expect(await count(registry, 'a')).toBe(1);
    await registry.close();
  });

  test('many at once who want one that is closed share its opening', async () => {
    const service = new Service();
    const first = await service.open();
    await first.create('a');
    await first.close();
    const opened: string[] = [];
    service.hooks.beforeOpen = (file) => void opened.push(file);
    const registry = await service.open({ maxOpen: 0 });
    await Promise.all(Array.from({ length: 20 }, (_unused, index) => write(registry, 'a', `d${index}`)));
    expect(opened.length).toBe(2);
    expect(await count(registry, 'a')).toBe(20);
    await registry.close();
  });

  test('a lease released twice counts once', async () => {
    const registry = await new Service().open({ maxOpen: 0 });
    await registry.create('a');
    const [one, other] = [await registry.acquire('a'), await registry.acquire('a')];
    one.release();
    one.release();
    await settle();
    expect((await other.database.info()).docCount).toBe(0);
    other.release();
    await registry.close();
  });

  test('one that gave itself up is opened again by the next use, though others still hold it', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await write(registry, 'a', 'before');
    const held = await registry.acquire('a');
    let broken = true;
    service.hooks.beforeCommit = (commit, file) => {
      if (broken && file !== REGISTRY_FILE && commit.journal !== undefined) {
        throw new DatabaseError('storage_failed', 'The test medium broke');
      }
    };
    await expect(write(registry, 'a', 'lost')).rejects.toMatchObject({ code: 'storage_failed' });
    broken = false;
    await write(registry, 'a', 'after');
    expect(await count(registry, 'a')).toBe(2);
    await expect(put(held.database, 'through the old one')).rejects.toMatchObject({
      code: expect.stringMatching(/^storage_/),
    });
    held.release();
    expect(await count(registry, 'a')).toBe(2);
    await registry.close();
  });

  test('one that fails after its name was given to a new database does no harm to that', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    const old = await registry.acquire('a');
    await registry.delete('a');
    await registry.create('a');
    await write(registry, 'a', 'x');
    const fresh = await registry.acquire('a');
    await expect(put(old.database, 'y')).rejects.toMatchObject({ code: 'storage_deleted' });
    old.release();
    expect((await leavesOf(fresh.database, 'x')).length).toBe(1);
    fresh.release();
    await registry.close();
  });

  test('an opening that failed is tried again', async () => {
    const service = new Service();
    const first = await service.open();
    await first.create('a');
    await first.close();
    const registry = await service.open();
    service.hooks.beforeOpen = () => Promise.reject(new DatabaseError('storage_blocked', 'A test holds it'));
    await expect(count(registry, 'a')).rejects.toMatchObject({ code: 'storage_blocked' });
    delete service.hooks.beforeOpen;
    expect(await count(registry, 'a')).toBe(0);
    await registry.close();
  });
});
