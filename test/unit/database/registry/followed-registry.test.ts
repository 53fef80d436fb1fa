import { afterEach, describe, expect, test, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import type { DatabaseEvent, Registry } from '../../../../src/database/registry/contract.ts';
import { followRegistry } from '../../../../src/database/registry/followed-registry.ts';
import { openRegistry } from '../../../../src/database/registry/registry.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import type { FollowedFile, PageStore } from '../../../../src/storage/page-store.ts';
import { patient } from '../../../support/patience.ts';
import { Gate, id, put } from '../store/harness.ts';

/** An owner and a reader of one medium. */
class Pair {
  readonly medium = new MemoryMedium();
  readonly seen: string[] = [];
  /** If set, the reader's pages come when it is opened. */
  gate: Gate | undefined;
  readonly #opened: Registry[] = [];

  async owner(): Promise<Registry> {
    return this.#keep(await openRegistry({ ...this.#common(), store: createMemoryPageStore({ medium: this.medium }) }));
  }

  async reader(): Promise<Registry> {
    const registry = await followRegistry({
      ...this.#common(),
      store: this.#slowStore(),
      alwaysFresh: () => ['_users'],
      onSecurity: (name) => this.seen.push(`security of ${name}`),
      onNotes: () => this.seen.push('notes'),
    });
    registry.onEvent(({ type, name }) => this.seen.push(`${type} ${name}`));
    return this.#keep(registry);
  }

  async close(): Promise<void> {
    this.gate?.open();
    for (const registry of this.#opened.reverse()) await registry.close();
  }

  #keep(registry: Registry): Registry {
    this.#opened.push(registry);
    return registry;
  }

  #common() {
    return { clock: systemClock, random: systemRandom, config: createConfig({}), log: silentLog };
  }

  #slowStore(): PageStore {
    const store = createMemoryPageStore({ medium: this.medium });
    const slow = (file: FollowedFile): FollowedFile =>
      new Proxy(file, {
        get: (target, key) => {
          const value: unknown = Reflect.get(target, key, target);
          if (typeof value !== 'function') return value;
          const { gate } = this;
          if (key !== 'read' || gate === undefined) return value.bind(target);
          return async (...given: unknown[]) => {
            await gate.opened;
            return Reflect.apply(value, target, given);
          };
        },
      });
    return new Proxy(store, {
      get: (target, key) => {
        if (key === 'follow') return async (name: string) => slow(must(await target.follow?.(name)));
        const value: unknown = Reflect.get(target, key, target);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }
}

let pair = new Pair();

afterEach(async () => {
  await pair.close();
  pair = new Pair();
});

async function isIn(registry: Registry, name: string, document: string): Promise<boolean> {
  return registry.use(name, async (database) => {
    const snapshot = database.snapshot();
    try {
      return (await snapshot.document(id(document))) !== undefined;
    } finally {
      snapshot.release();
    }
  });
}

describe('a registry of databases that another process owns', () => {
  test('is missing before there is a list', async () => {
    await expect(pair.reader()).rejects.toMatchObject({ code: 'storage_missing' });
  });

  test('lists what the owner lists, after a refresh', async () => {
    const owner = await pair.owner();
    await owner.create('a');
    const reader = await pair.reader();
    expect([reader.names(), reader.serverUuid]).toEqual([['a'], owner.serverUuid]);
    await owner.create('b');
    await owner.delete('a');
    await owner.keepNote('n', 'text');
    await owner.keepSettings('{"log":{}}');
    await reader.refresh?.();
    expect([reader.names(), reader.has('a'), reader.has('b')]).toEqual([['b'], false, true]);
    expect([reader.notes.get('n'), reader.settings]).toEqual(['text', '{"log":{}}']);
    expect(pair.seen).toEqual(['notes', 'deleted a', 'created b']);
    expect(reader.refresh?.()).toBeUndefined();
  });

  test('a lease contains what was written before it was asked for', async () => {
    const owner = await pair.owner();
    await owner.create('a');
    const reader = await pair.reader();
    for (let count = 0; count < 5; count++) {
      await owner.use('a', (database) => put(database, `d${count}`));
      expect(await isIn(reader, 'a', `d${count}`)).toBe(true);
    }
  });

  test('also if an earlier request has begun to open it', async () => {
    const owner = await pair.owner();
    await owner.create('a');
    await owner.use('a', (database) => put(database, 'before'));
    await owner.use('a', async (database) => {
      await database.setSecurity('{"members":{"names":["ana"]}}');
      await database.compact();
    });
    const reader = await pair.reader();
    pair.gate = new Gate();
    const first = isIn(reader, 'a', 'before');
    await new Promise((resolve) => setImmediate(resolve));
    await owner.use('a', (database) => put(database, 'after'));
    const second = isIn(reader, 'a', 'after');
    pair.gate.open();
    expect(await Promise.all([first, second])).toEqual([true, true]);
  });

  test('a database that was made again is another one', async () => {
    const owner = await pair.owner();
    await owner.create('a');
    await owner.use('a', (database) => put(database, 'old'));
    const reader = await pair.reader();
    expect(await isIn(reader, 'a', 'old')).toBe(true);
    await owner.delete('a');
    await reader.refresh?.();
    expect(() => reader.use('a', () => undefined)).toThrowError(expect.objectContaining({ code: 'not_found' }));
    await owner.create('a');
    await reader.refresh?.();
    expect(await isIn(reader, 'a', 'old')).toBe(false);
    expect(pair.seen).toEqual(['deleted a', 'created a']);
  });

  test('a security object is noticed before the changes that came after it', async () => {
    const owner = await pair.owner();
    await owner.create('a');
    const reader = await pair.reader();
    await reader.use('a', () => undefined);
    await owner.use('a', async (database) => {
      await database.setSecurity('{"members":{"names":["ana"]}}');
      await put(database, 'd');
    });
    await reader.use('a', (database) => expect(database.security).toBe('{"members":{"names":["ana"]}}'));
    expect(pair.seen).toEqual(['security of a', 'updated a']);
  });

  test('users are looked at at every refresh', async () => {
    const owner = await pair.owner();
    await owner.create('_users');
    const reader = await pair.reader();
    await reader.refresh?.();
    pair.seen.length = 0;
    await owner.use('_users', (database) => put(database, 'org.couchdb.user:ana'));
    await reader.refresh?.();
    expect(pair.seen).toEqual(['updated _users']);
  });

  test('changes of a watched database are noticed without any request', async () => {
    const owner = await pair.owner();
    await owner.create('a');
    const reader = await pair.reader();
    const events: DatabaseEvent[] = [];
    const end = must(reader.watch?.('a'));
    await vi.waitFor(() => expect(pair.seen).toContain('updated a'), patient);
    reader.onEvent((event) => events.push(event));
    await owner.use('a', (database) => put(database, 'd'));
    await vi.waitFor(() => expect(events).toEqual([{ type: 'updated', name: 'a' }]), patient);
    await owner.delete('a');
    await vi.waitFor(() => expect(events.at(-1)).toEqual({ type: 'deleted', name: 'a' }), patient);
    end();
  });

  test('nothing is changed by it', async () => {
    await pair.owner();
    const reader = await pair.reader();
    const changes = [
      () => reader.create('a'),
      () => reader.createIfMissing('a'),
      () => reader.createByWriting('a', () => undefined),
      () => reader.delete('a'),
      () => reader.keepNote('n', 'text'),
      () => reader.keepSettings('{}'),
      () => reader.verifyList(),
    ];
    for (const change of changes) await expect(change()).rejects.toMatchObject({ code: 'not_owner' });
  });

  test('holds nothing after it is closed', async () => {
    const owner = await pair.owner();
    await owner.create('a');
    const reader = await pair.reader();
    await isIn(reader, 'a', 'd');
    await reader.close();
    for (const { followers } of pair.medium.files.values()) expect(followers.whenPassed()).toBeUndefined();
    await owner.use('a', (database) => put(database, 'd'));
  });
});
