import { afterEach, describe, expect, test, vi } from 'vitest';
import type { StoredDatabase } from '../../../src/database/stored-database.ts';
import { maintenance } from '../../../src/database/upkeep/maintenance.ts';
import type { Maintenance } from '../../../src/database/upkeep/maintenance-source.ts';
import { DatabaseError } from '../../../src/errors/database-error.ts';
import { Bench, id, put, rev, TINY, toWrite } from './harness.ts';

const MEGABYTE = 2 ** 20;

/** What maintains databases, as a host has it that loads it on first use. */
class Shelf {
  loaded: Maintenance | undefined;
  readonly load = vi.fn(async () => {
    this.loaded = maintenance;
    return maintenance;
  });
  readonly now = (): Maintenance | undefined => this.loaded;
}

let db: StoredDatabase;
afterEach(() => db.close());

async function open(): Promise<{ readonly bench: Bench; readonly shelf: Shelf }> {
  const shelf = new Shelf();
  const bench = new Bench({ settings: TINY, maintenance: shelf });
  db = await bench.open();
  return { bench, shelf };
}

/** Writes a large document time and again, and has all of it stored. */
async function leaveGarbage(megabytes: number, first?: string): Promise<string> {
  let current = first;
  for (let count = 0; count <= megabytes; count++) {
    const text = JSON.stringify({ count, text: 'x'.repeat(MEGABYTE) });
    current = await put(db, 'a', current === undefined ? { body: text } : { rev: current, body: text });
  }
  await db.flush();
  return current ?? '';
}

async function diskSize(): Promise<number> {
  return (await db.info()).diskSize;
}

describe('what maintains a database', () => {
  test('is not loaded for little garbage', async () => {
    const { shelf } = await open();
    await leaveGarbage(2);
    await db.write([toWrite('b')], { newEdits: true, durability: 'strict' });
    expect(shelf.load).not.toHaveBeenCalled();
    expect(await diskSize()).toBeGreaterThan(2 * MEGABYTE);
  });

  test('is loaded for much of it, and gives it back', async () => {
    const { shelf } = await open();
    const last = await leaveGarbage(6);
    await vi.waitFor(() => expect(shelf.load).toHaveBeenCalled());
    await leaveGarbage(3, last);
    await vi.waitFor(async () => expect(await diskSize()).toBeLessThan(4 * MEGABYTE));
  });

  test('holds nothing up where it can not be loaded, and the log says so', async () => {
    const { bench, shelf } = await open();
    shelf.load.mockRejectedValue(new DatabaseError('functions_unavailable', 'no file'));
    await leaveGarbage(6);
    await vi.waitFor(() => expect(bench.logged).toContain('body pages with garbage can not be emptied yet'));
    expect(bench.failures).toEqual([]);
    await expect(db.compact()).rejects.toMatchObject({ code: 'functions_unavailable' });
    expect(db.compactRunning).toBe(false);
    shelf.load.mockImplementation(async () => maintenance);
    await db.compact();
    expect(await diskSize()).toBeLessThan(2 * MEGABYTE);
  });

  test('is loaded to purge, to compact and for writes for later', async () => {
    const { shelf } = await open();
    const first = await put(db, 'a', { body: '{}' });
    expect(await db.purge(new Map([[id('a'), [rev(first)]]]))).toMatchObject({ purgeSeq: 1 });
    await db.compact();
    await db.writeLater([toWrite('later')]);
    await db.flush();
    expect((await db.info()).docCount).toBe(1);
    expect(shelf.load).toHaveBeenCalled();
  });
});
