import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { must } from '../../../../src/base/shared/assert.ts';
import { REGISTRY_FILE } from '../../../../src/database/registry/database-list.ts';
import type { MemoryFile } from '../../../../src/storage/memory-page-store.ts';
import { Gate, settle } from '../store/harness.ts';
import { count, Service, write } from './service.ts';

/** Somebody puts back the list of databases as it was once, and nothing else. */

function listOf({ medium }: Service): MemoryFile {
  return must(medium.clone().files.get(REGISTRY_FILE));
}

function fileOf({ medium }: Service, name: string): string {
  return must([...medium.files.keys()].find((file) => file.startsWith(`${name}.`)));
}

/** A service with one database, its list at that time, and a later database with a document and an index. */
async function withLater(): Promise<{ service: Service; older: MemoryFile }> {
  const service = new Service();
  const registry = await service.open();
  await registry.create('early');
  await registry.close();
  const older = listOf(service);
  const again = await service.open();
  await again.create('late');
  await write(again, 'late', 'x');
  await again.close();
  service.medium.files.set(`${fileOf(service, 'late')}.view-1`, must(service.medium.clone().files.get(REGISTRY_FILE)));
  return { service, older };
}

describe('a database that is missing in an older list', () => {
  test('is kept under another name with all its files, and the log says so', async () => {
    const { service, older } = await withLater();
    const file = fileOf(service, 'late');
    service.medium.files.set(REGISTRY_FILE, older);
    const registry = await service.open();
    await settle();
    const name = `set_aside_${file.replace('.', '_')}`;
    expect(registry.names()).toEqual(['early', name]);
    expect(await count(registry, name)).toBe(1);
    expect(service.medium.files.has(`${file}.view-1`)).toBe(true);
    expect(service.logged).toEqual([
      `the list of databases does not name the newer file ${file}; its database is now named ${name}`,
    ]);
    await registry.create('late');
    await registry.close();
    const again = await service.open();
    expect(again.names()).toEqual(['early', 'late', name]);
    expect(await count(again, name)).toBe(1);
    expect(service.logged).toHaveLength(1);
    await again.delete(name);
    await settle();
    expect([...service.medium.files.keys()].filter((each) => each.startsWith(file))).toEqual([]);
    await again.close();
  });

  test("is left unchanged if the list can't be written", async () => {
    const { service, older } = await withLater();
    service.medium.files.set(REGISTRY_FILE, older);
    service.hooks.beforeCommit = (commit, file) => {
      if (file === REGISTRY_FILE && commit.journal !== undefined)
        throw new DatabaseError('storage_full', 'It is full.');
    };
    const registry = await service.open();
    await settle();
    expect(registry.names()).toEqual(['early']);
    expect(service.medium.files.has(fileOf(service, 'late'))).toBe(true);
    expect(service.logged.join()).toContain('it stays unused');
  });

  test("is kept if it can't be read, as its content is unknown", async () => {
    const { service, older } = await withLater();
    const file = fileOf(service, 'late');
    const content = must(service.medium.files.get(file));
    content.head = content.head?.replace('"uuid"', '"uuie"');
    service.medium.files.set(REGISTRY_FILE, older);
    const registry = await service.open();
    const name = `set_aside_${file.replace('.', '_')}`;
    expect(registry.names()).toEqual(['early', name]);
    await expect(count(registry, name)).rejects.toMatchObject({ code: 'storage_corrupt' });
    await registry.close();
  });
});

describe('the file of a deleted database', () => {
  test('is removed at the next start if that failed before, and the list forgets it', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await write(registry, 'a', 'x');
    service.hooks.beforeDestroy = () => Promise.reject(new DatabaseError('storage_blocked', 'A test holds it'));
    await registry.delete('a');
    await registry.create('a');
    await write(registry, 'a', 'y');
    await settle();
    expect(service.files()).toEqual(['a', 'a']);
    await registry.close();
    service.hooks.beforeDestroy = () => undefined;
    for (let start = 1; start <= 2; start++) {
      const again = await service.open();
      await settle();
      expect([again.names(), service.files()]).toEqual([['a'], ['a']]);
      expect(await count(again, 'a')).toBe(1);
      await again.close();
    }
    const pages = JSON.stringify([...listOf(service).pages.values()]);
    expect(pages).toContain('file');
    expect(pages).not.toContain('removed');
  });

  test('that is gone is forgotten by the list in the background, without delaying the first requests', async () => {
    const service = new Service();
    const registry = await service.open();
    await registry.create('a');
    await registry.create('b');
    let isForgotten = false;
    service.hooks.beforeCommit = (_commit, file) => {
      if (file === REGISTRY_FILE && isForgotten) throw new DatabaseError('storage_failed', 'Cut off');
    };
    // The file goes, and the service ends before the list hears of it.
    service.hooks.beforeDestroy = () => {
      isForgotten = true;
    };
    await registry.delete('a');
    await settle();
    const next = service.crashed();
    const held = new Gate();
    next.hooks.beforeCommit = (commit, file) =>
      file === REGISTRY_FILE && commit.journal !== undefined ? held.opened : undefined;
    const again = await next.open();
    await write(again, 'b', 'x');
    held.open();
    await again.close();
    expect(JSON.stringify([...listOf(next).pages.values()])).not.toContain('removed');
  });
});
