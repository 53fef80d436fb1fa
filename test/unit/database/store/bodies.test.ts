import { serialize } from 'node:v8';
import { describe, expect, test } from 'vitest';
import { crc32 } from '../../../../src/base/shared/crc32.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { BodyStore } from '../../../../src/database/store/bodies/body-store.ts';
import type { BodyLocation } from '../../../../src/database/store/contract.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import type { PageFile } from '../../../../src/storage/page-store.ts';
import { PageAllocator } from '../../../../src/storage/paging/page-allocator.ts';
import { PageCache } from '../../../../src/storage/paging/page-cache.ts';
import { id } from './harness.ts';

const PAGES = 300;

/** A body store on `PAGES` stored pages of two bodies each, on a file that can read parts of pages and counts reads. */
async function openBodies(pageBytes = 100) {
  const file = await createMemoryPageStore().open('bodies', 'create');
  const readPage = file.read.bind(file);
  const reads = { pages: 0, ranges: 0 };
  const watched: PageFile = Object.assign(file, {
    read: (page: number) => {
      reads.pages += 1;
      return readPage(page, 'bytes');
    },
    readRange: (page: number, offset: number, length: number) => {
      reads.ranges += 1;
      const bytes = readPage(page, 'bytes');
      return bytes instanceof Uint8Array ? bytes.slice(offset, offset + length) : undefined;
    },
  });
  const allocator = new PageAllocator(1, 0);
  const options = { allocator, crc32, pageBytes, maxPageBytes: 1_000 };
  const bodies = new BodyStore({ ...options, file: watched, cache: new PageCache(1_000_000) });
  const locations: BodyLocation[] = [];
  for (let page = 0; page < PAGES; page++) {
    const texts = [`{"first":${page}}`, `{"second":${page}}`];
    const packed = atOnce(bodies.pack(texts.map((text) => ({ id: id('d'), bytes: new TextEncoder().encode(text) }))));
    locations.push(...packed.locations);
    await watched.commit({ durability: 'relaxed', writePages: packed.pages });
  }
  const at = (index: number): BodyLocation => locations[index] ?? { page: -1, offset: 0, length: 0 };
  return { bodies, reads, at };
}

describe('a single body', () => {
  test('is read directly, without its whole page', async () => {
    const { bodies, reads, at } = await openBodies();
    expect(bodies.reader.read(at(0))).toBe('{"first":0}');
    expect(reads).toEqual({ pages: 0, ranges: 1 });
  });

  test('loads its page when another body of it was read recently', async () => {
    const { bodies, reads, at } = await openBodies();
    expect(await bodies.reader.read(at(0))).toBe('{"first":0}');
    expect(await bodies.reader.read(at(1))).toBe('{"second":0}');
    expect(reads).toEqual({ pages: 1, ranges: 1 });
    expect(bodies.reader.read(at(0))).toBe('{"first":0}');
    expect(reads).toEqual({ pages: 1, ranges: 1 });
  });

  test("doesn't load its page when the last read of it was long ago", async () => {
    const { bodies, reads, at } = await openBodies();
    for (let page = 0; page < PAGES; page++) await bodies.reader.read(at(2 * page));
    expect(await bodies.reader.read(at(1))).toBe('{"second":0}');
    expect(reads).toEqual({ pages: 0, ranges: PAGES + 1 });
  });

  test('fails asynchronously if its page is missing', async () => {
    const { bodies } = await openBodies();
    const lost = bodies.reader.read({ page: 77, offset: 0, length: 5 });
    await expect(lost).rejects.toMatchObject({ code: 'storage_corrupt' });
  });
});

describe('one of many bodies', () => {
  test('is read with its page if much of the page is wanted', async () => {
    const { bodies, reads, at } = await openBodies();
    const wanted = [at(0), at(1)];
    expect(await bodies.reader.readOneOf(wanted, 0)).toBe('{"first":0}');
    expect(await bodies.reader.readOneOf(wanted, 1)).toBe('{"second":0}');
    expect(reads).toEqual({ pages: 1, ranges: 0 });
  });

  test('is read alone if little of its page is wanted', async () => {
    const { bodies, reads, at } = await openBodies(500);
    const wanted = [at(0), at(1)];
    expect(await bodies.reader.readOneOf(wanted, 0)).toBe('{"first":0}');
    expect(await bodies.reader.readOneOf(wanted, 1)).toBe('{"second":0}');
    expect(reads).toEqual({ pages: 0, ranges: 2 });
  });

  test('is read alone if it is the only one of its page', async () => {
    const { bodies, reads, at } = await openBodies(500);
    const wanted = Array.from({ length: PAGES }, (_, page) => at(2 * page));
    for (let place = 0; place < PAGES; place++) await bodies.reader.readOneOf(wanted, place);
    expect(reads).toEqual({ pages: 0, ranges: PAGES });
  });

  test('loads its page when another body of it was read recently', async () => {
    const { bodies, reads, at } = await openBodies(500);
    await bodies.reader.readOneOf([at(0)], 0);
    expect(await bodies.reader.readOneOf([at(1)], 0)).toBe('{"second":0}');
    expect(reads).toEqual({ pages: 1, ranges: 1 });
  });
});

test('a long body of Latin letters takes one byte per character', async () => {
  const file = await createMemoryPageStore().open('bodies', 'create');
  const options = { file, allocator: new PageAllocator(1, 0), crc32, cache: new PageCache(1_000_000) };
  const bodies = new BodyStore({ ...options, pageBytes: 100, maxPageBytes: 1_048_576 });
  const text = `{"text":"${'x'.repeat(3_000_000)}"}`;
  const packed = atOnce(bodies.pack([{ id: id('d'), bytes: new TextEncoder().encode(text) }]));
  await file.commit({ durability: 'relaxed', writePages: packed.pages });
  const read = await bodies.reader.read(packed.locations[0] ?? { page: -1, offset: 0, length: 0 });
  expect(read === text).toBe(true);
  expect(serialize(read).length).toBeLessThan(text.length + 100);
});
