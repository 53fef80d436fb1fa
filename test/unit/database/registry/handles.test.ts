import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { CacheBudget } from '../../../../src/base/shared/cache-budget.ts';
import { nextTurn } from '../../../../src/base/shared/turn.ts';
import { REGISTRY_FILE } from '../../../../src/database/registry/database-list.ts';
import { Gate, leavesOf, put, settle } from '../store/harness.ts';
import { count, deleteWhileOpening, Service, write } from './service.ts';

/** A registry with the database `a`, whose file is opened when the gate is. */
async function withHeldOpening() {
  const service = new Service();
  const first = await service.open();
  await first.create('a');
  await first.close();
  const gate = new Gate();
  service.hooks.beforeOpen = (file) => (file === REGISTRY_FILE ? undefined : gate.opened);
  return { registry: await service.open(), gate };
}

describe('open database handles', () => {
  test('keep at most max_dbs_open files open for 300 databases, without a loss', async () => {
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
    // The list itself, and two that are being closed: to close one takes longer than to make the next one and write to it.
    expect(most).toBeLessThanOrEqual(13);
    await Promise.all(names.map((name) => write(registry, name, 'second')));
    await settle();
    expect(open.size).toBeLessThanOrEqual(11);
    for (const name of names) expect(await count(registry, name)).toBe(2);
    await settle();
    expect(open.size).toBeLessThanOrEqual(11);
    await registry.close();
    expect(open.size).toBe(0);
  });

  test('for 300 databases requested at once are opened a few at a time', async () => {
    const service = new Service();
    const first = await service.open();
    const names = Array.from({ length: 300 }, (_unused, index) => `db${index}`);
    for (const name of names) await first.create(name);
    await first.close();
    let most = 0;
    let underWay = 0;
    service.hooks.beforeOpen = async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await settle();
      underWay -= 1;
    };
    const registry = await service.open({ maxOpen: 10 });
    const counts = await Promise.all(names.map((name) => count(registry, name)));
    expect(counts).toEqual(names.map(() => 0));
    expect(most).toBe(16);
    await registry.close();
  });

  test('stay open while they are in use, however many others are opened', async () => {
    const registry = await new Service().open({ maxOpen: 1 });
    for (const name of ['a', 'b', 'c']) await registry.create(name);
    const leases = [await registry.acquire('a'), await registry.acquire('b'), await registry.acquire('c')];
    for (const { database } of leases) expect((await database.info()).docCount).toBe(0);
    await write(registry, 'a', 'x');
    for (const { release } of leases) release();
    expect(await count(registry, 'a')).toBe(1);
    await registry.close();
  });

  test('that are unused are closed when no more files can be opened', async () => {
    const service = new Service();
    const open = new Set<string>();
    service.hooks.beforeOpen = (file) => {
      if (open.size >= 5) throw new DatabaseError('too_busy', 'no more files');
      open.add(file);
    };
    service.hooks.beforeClose = (file) => void open.delete(file);
    const registry = await service.open({ maxOpen: 100 });
    const names = Array.from({ length: 20 }, (_unused, index) => `db${index}`);
    for (const name of names) await registry.create(name);
    for (const name of names) expect(await count(registry, name)).toBe(0);
    // Those in use are not: with the list they are as many as there can be.
    const leases = await Promise.all(names.slice(0, 4).map((name) => registry.acquire(name)));
    await expect(registry.acquire('db9')).rejects.toMatchObject({ code: 'too_busy' });
    for (const { release } of leases) release();
    expect(await count(registry, 'db9')).toBe(0);
    await registry.close();
  });

  test('are opened once if they are requested at the moment when their creation ends', async () => {
    const service = new Service();
    const registry = await service.open();
    let opened = 0;
    service.hooks.beforeOpen = () => void opened++;
    const creating = registry.create('a');
    // In the moment in which it ends: a turn only where the creation needs one.
    for (let n = 1; !registry.has('a'); n++) await (n % 1_000 === 0 ? nextTurn() : undefined);
    const lease = await registry.acquire('a');
    await creating;
    await put(lease.database, 'x');
    lease.release();
    expect(await count(registry, 'a')).toBe(1);
    expect(opened).toBe(1);
    await registry.close();
  });

  test('of a database deleted during the opening report a missing database, not damage', async () => {
    const { registry, gate } = await withHeldOpening();
    await deleteWhileOpening(registry, gate);
  });

  test('that are being opened when the service ends report the closed storage, not a missing database', async () => {
    const { registry, gate } = await withHeldOpening();
    const asked = expect(registry.acquire('a')).rejects.toMatchObject({ code: 'storage_closed' });
    await settle();
    const closed = registry.close();
    gate.open();
    await asked;
    await closed;
  });

  test('are opened once for many simultaneous requests', async () => {
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

  test('count a lease that is released twice once', async () => {
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

  test('that failed are opened again by the next use, even if others still hold them', async () => {
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

  test("that fail after their name was given to a new database don't affect the new one", async () => {
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

  test('are opened again after an opening failed', async () => {
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

describe('the read cache of open databases', () => {
  const names = ['a', 'b', 'c', 'd', 'e'];

  /** Databases whose documents are stored, so that reading them fills the cache. */
  async function filled(cache: CacheBudget, maxOpen: number) {
    const service = new Service();
    const first = await service.open();
    for (const name of names) {
      await first.create(name);
      for (let index = 0; index < 20; index++) {
        await first.use(name, (db) => put(db, `d${index}`, { body: `{"t":"${'x'.repeat(300)}"}` }));
      }
    }
    await first.close();
    return service.open({ cache, maxOpen });
  }

  const readAll = async (registry: Awaited<ReturnType<typeof filled>>, name: string) => {
    for (let index = 0; index < 20; index++) await registry.use(name, (db) => leavesOf(db, `d${index}`));
  };

  test('stays within one budget for all, and each database can fill it', async () => {
    const alone = new CacheBudget(1_000_000);
    const one = await filled(alone, 10);
    await readAll(one, 'a');
    const bytesOfOne = alone.bytes;
    await one.close();
    expect(bytesOfOne).toBeGreaterThan(3_000);

    const shared = new CacheBudget(2 * bytesOfOne);
    const registry = await filled(shared, 10);
    for (const name of names) {
      await readAll(registry, name);
      expect(shared.bytes).toBeLessThanOrEqual(2 * bytesOfOne);
    }
    expect(shared.bytes).toBeGreaterThan(bytesOfOne);
    await registry.close();
    expect(shared.bytes).toBe(0);
  });

  test('is released by a database that is closed or deleted', async () => {
    const cache = new CacheBudget(1_000_000);
    const registry = await filled(cache, 1);
    await readAll(registry, 'a');
    const withOne = cache.bytes;
    for (const name of names) await readAll(registry, name);
    await settle();
    expect(cache.bytes).toBeLessThan(2 * withOne);
    await registry.delete('e');
    expect(cache.bytes).toBeLessThan(withOne);
    await registry.close();
  });
});
