import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { crc32 } from '../../../../src/base/shared/crc32.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import type { MemoryFile } from '../../../../src/storage/memory-page-store.ts';
import { addToBytes, addToHead, addToText, checkBytes, checkText } from '../../../../src/storage/paging/checksums.ts';
import { Bench, FILE, Gate, id, merge, put, seeAll, settle, TINY, TINY_PAGES, toWrite } from './harness.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

function fileOf(bench: Bench): MemoryFile {
  const file = bench.medium.files.get(FILE);
  if (file === undefined) throw new Error('the medium is empty');
  return file;
}

/** A stored database of trees with several levels, each body of its own text. */
async function build(): Promise<{ bench: Bench; db: StoredDatabase }> {
  const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
  const db = await bench.open();
  for (let index = 10; index < 70; index++)
    await put(db, `d${index}`, { body: `{"n":${index},"t":"${'x'.repeat(30)}"}` });
  await merge(db, 'd10', { rev: '1-conflict', body: '{"n":"conflict"}' });
  await put(db, 'large', { body: `{"t":"${'x'.repeat(2_500)}"}` });
  await db.writeLocal(id('_local/x'), undefined, '{}', { durability: 'relaxed' });
  expect((await db.verify()).damage).toEqual([]);
  return { bench, db };
}

type Page = readonly [number: number, text: string];

/*
 * What is falsified here has right checksums all the same: it stands for mistakes of our own. Damage of the medium is the matter of
 * damaged-pages.test.ts.
 */

function textPages(file: MemoryFile, part: string): Page[] {
  return [...file.pages].flatMap(([number, value]): Page[] => {
    const text = typeof value === 'string' ? checkText(crc32, number, value) : undefined;
    return text?.includes(part) ? [[number, text]] : [];
  });
}

function setText(file: MemoryFile, number: number, text: string): void {
  file.pages.set(number, addToText(crc32, number, text));
}

/** Body pages as text, one byte a character. */
function bodyPages(file: MemoryFile, part: string): Page[] {
  return [...file.pages].flatMap(([number, value]): Page[] => {
    if (typeof value === 'string') return [];
    const text = Buffer.from(checkBytes(crc32, number, value) ?? []).toString('latin1');
    return text.includes(part) ? [[number, text]] : [];
  });
}

function first(pages: readonly Page[]): Page {
  const [page] = pages;
  if (page === undefined) throw new Error('no such page');
  return page;
}

function replaceBody(file: MemoryFile, from: string, to: string): void {
  const [number, text] = first(bodyPages(file, from));
  file.pages.set(number, addToBytes(crc32, number, Buffer.from(text.replace(from, to), 'latin1')));
}

function replaceText(file: MemoryFile, page: Page, from: string | RegExp, to: string): void {
  expect(page[1].replace(from, to)).not.toBe(page[1]);
  setText(file, page[0], page[1].replace(from, to));
}

function changeHead(file: MemoryFile, changed: Readonly<Record<string, unknown>>): void {
  const { crc: _, ...head } = JSON.parse(file.head ?? '{}');
  file.head = addToHead(crc32, JSON.stringify({ ...head, ...changed }));
}

const DAMAGE: Readonly<
  Record<string, { readonly harm: (file: MemoryFile) => void; readonly found: RegExp; readonly inHead?: true }>
> = {
  'a body page is gone': {
    harm: (file) => file.pages.delete(first(bodyPages(file, '{"n":33,'))[0]),
    found: /is missing/,
  },
  'a part of a large body is gone': {
    harm: (file) => file.pages.delete(first(bodyPages(file, 'xxx"}'))[0]),
    found: /is missing|not JSON/,
  },
  'a body is garbled': { harm: (file) => replaceBody(file, '{"n":33,', '{"n":33;'), found: /d33 is not JSON/ },
  'a body is no object': {
    harm: (file) => replaceBody(file, '{"n":"conflict"}', '["n","conflict"]'),
    found: /d10 is not JSON/,
  },
  'a body page lists nothing': { harm: (file) => replaceBody(file, '["d', '!!d'), found: /list of documents/ },
  'a body page lists another document': { harm: (file) => replaceBody(file, '"d33"', '"dxx"'), found: /d33.*listed/ },
  'a leaf is gone': { harm: (file) => file.pages.delete(first(textPages(file, '\nd33\t'))[0]), found: /is missing/ },
  'two leaves are swapped': {
    harm: (file) => {
      const [[one, text], [other, otherText]] = [first(textPages(file, '\nd33\t')), first(textPages(file, '\nd50\t'))];
      setText(file, one, otherText);
      setText(file, other, text);
    },
    found: /separator/,
  },
  'a node is none': {
    harm: (file) => setText(file, first(textPages(file, '\nd33\t'))[0], 'nonsense'),
    found: /format/,
  },
  'an entry is garbled': {
    harm: (file) => replaceText(file, first(textPages(file, '\nd33\t')), /\nd33\tl(\w+) \d+-/, '\nd33\tl$1 x-'),
    found: /d33|revision tree/,
  },
  'by-id and by-seq disagree about a place': {
    harm: (file) => replaceText(file, first(textPages(file, ',"d33",')), ',"d33",', ',"d34",'),
    found: /d33/,
  },
  'by-id and by-seq disagree about revisions': {
    harm: (file) => replaceText(file, first(textPages(file, ',"d33",')), /,"d33","1-\w{4}/, ',"d33","1-0000'),
    found: /d33/,
  },
  'by-id and by-seq disagree about deletion': {
    harm: (file) => replaceText(file, first(textPages(file, ',"d33",')), '[0,"d33"', '[1,"d33"'),
    found: /d33/,
  },
  'a count in the head is wrong': {
    harm: (file) => changeHead(file, { docCount: 60 }),
    found: /counts say 60/,
    inHead: true,
  },
  'a page belongs to nothing': {
    harm: (file) => file.pages.set(77, 'lost'),
    found: /page 77 belongs to nothing/,
    inHead: true,
  },
};

describe('verify', () => {
  test('finds nothing in an intact file, and reports what it read', async () => {
    const { bench, db } = await build();
    const progress: [number, number][] = [];
    const report = await db.verify((done, total) => progress.push([done, total]));
    expect(report).toEqual({ documents: 61, pages: fileOf(bench).pages.size, damage: [], lost: [] });
    expect(progress.at(-1)).toEqual([61, 61]);
    await db.close();
  });

  test.each(Object.entries(DAMAGE))('finds after opening that %s', async (_what, { harm, found }) => {
    const { bench, db } = await build();
    await db.close();
    const file = fileOf(bench);
    harm(file);
    const again = await bench.open();
    const { damage } = await again.verify();
    expect(damage.length).toBeGreaterThan(0);
    expect(damage.join('\n')).toMatch(found);
    expect(damage.length).toBeLessThan(20);
  });

  test.each(Object.entries(DAMAGE).filter(([, { inHead }]) => inHead === undefined))(
    'finds with a full cache that %s',
    async (_what, { harm, found }) => {
      const { bench, db } = await build();
      await seeAll(db);
      harm(fileOf(bench));
      const { damage } = await db.verify();
      expect(damage.join('\n')).toMatch(found);
    },
  );

  test("finds a page whose listing doesn't match its bodies, and a compaction leaves that page alone", async () => {
    const { bench, db } = await build();
    for (let index = 10; index < 70; index += 2) {
      const snapshot = db.snapshot();
      const leaf = (await snapshot.document(id(`d${index}`)))?.leaves[0];
      snapshot.release();
      await put(db, `d${index}`, { rev: `${leaf?.generation}-${leaf?.hash}`, body: `{"n":${index},"t":"new"}` });
    }
    await db.close();
    replaceBody(fileOf(bench), '"d33"', '"dxx"');
    const again = await bench.open();
    await again.compact();
    const snapshot = again.snapshot();
    const leaf = (await snapshot.document(id('d33')))?.leaves[0];
    expect(leaf && (await snapshot.body(leaf))).toBe(`{"n":33,"t":"${'x'.repeat(30)}"}`);
    snapshot.release();
    expect((await again.verify()).damage.join('\n')).toMatch(/d33.*listed/);
    await again.close();
  });

  test('limits the list of findings', async () => {
    const bench = new Bench({ supports: TINY_PAGES });
    const db = await bench.open();
    await db.write(
      Array.from({ length: 1_500 }, (_unused, index) => toWrite(`d${index}`)),
      NEW_EDITS,
    );
    await db.verify();
    const file = fileOf(bench);
    for (const [number] of bodyPages(file, '')) file.pages.delete(number);
    const { damage } = await db.verify();
    expect(damage.length).toBe(1_001);
    await db.close();
  });

  test('finds nothing during writes and compactions', async () => {
    const { db } = await build();
    let running = true;
    const writer = async (name: string) => {
      for (let count = 0; running; count++) {
        await put(db, `${name} ${count}`, { body: `{"t":"${'x'.repeat(count % 900)}"}` });
        if (count % 20 === 0) await db.compact();
      }
    };
    const writers = [writer('a'), writer('b'), writer('c')];
    for (let times = 0; times < 5; times++) expect((await db.verify()).damage).toEqual([]);
    running = false;
    await Promise.all(writers);
    expect((await db.verify()).damage).toEqual([]);
    await db.close();
  });

  test("isn't revoked like an old reader, however long it takes", async () => {
    let gate: Gate | undefined;
    const bench = new Bench({
      settings: TINY,
      supports: TINY_PAGES,
      hooks: {
        onRead: async (_page, value) => {
          await gate?.opened;
          return value;
        },
      },
    });
    const db = await bench.open();
    for (let index = 0; index < 40; index++) await put(db, `d${index}`, { body: `{"n":${index}}` });
    await settle();
    gate = new Gate();
    const verification = db.verify();
    bench.clock.time += 3_600_000;
    await db.write(
      Array.from({ length: 40 }, (_unused, index) => toWrite(`e${index}`)),
      NEW_EDITS,
    );
    const compaction = db.compact();
    gate.open();
    await compaction;
    expect((await verification).damage).toEqual([]);
    await db.close();
  });

  test('works on a full medium', async () => {
    const { bench, db } = await build();
    await put(db, 'one more');
    bench.hooks.beforeCommit = () => Promise.reject(new DatabaseError('storage_full', 'The test medium is full'));
    expect((await db.verify()).damage).toEqual([]);
  });
});
