import { describe, expect, test } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import type { MemoryFile } from '../../../../src/storage/memory-page-store.ts';
import type { PageValue } from '../../../../src/storage/page-store.ts';
import { Bench, FILE, id, merge, put, type SeenDatabase, seeAll, TINY, TINY_PAGES } from './harness.ts';

/** One character or byte is changed somewhere in a file: whatever is read is right, or the error says what is damaged. */

function fileOf(bench: Bench): MemoryFile {
  return must(bench.medium.files.get(FILE));
}

/** A database with trees of several levels, small and large bodies, closed in order. */
async function build(): Promise<{ bench: Bench; seen: SeenDatabase }> {
  const bench = new Bench({ settings: TINY, supports: TINY_PAGES });
  const db = await bench.open();
  for (let index = 10; index < 40; index++)
    await put(db, `d${index}`, { body: `{"n":${index},"t":"${'x'.repeat(30)}"}` });
  await merge(db, 'd10', { rev: '1-conflict', body: '{"n":"conflict"}' });
  await put(db, 'large', { body: `{"t":"${'x'.repeat(2_500)}"}` });
  await db.writeLocal(id('_local/x'), undefined, `{"t":"${'y'.repeat(1_500)}"}`, { durability: 'relaxed' });
  const seen = await seeAll(db);
  await db.close();
  return { bench, seen };
}

function flipped(value: PageValue, at: number): PageValue {
  if (typeof value === 'string') {
    return value.slice(0, at) + String.fromCharCode(value.charCodeAt(at) ^ 1) + value.slice(at + 1);
  }
  return value.with(at, must(value[at]) ^ 1);
}

function textOf(value: PageValue): string {
  return typeof value === 'string' ? value : new TextDecoder('latin1').decode(value);
}

/** All that can be seen, or the code of the error. */
async function look(database: StoredDatabase): Promise<SeenDatabase | string> {
  try {
    return await seeAll(database);
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

describe('a changed character in a file', () => {
  test('in any page is found by reading it and by verify', async () => {
    const { bench, seen } = await build();
    let harmed = 0;
    for (const [number, value] of fileOf(bench).pages) {
      const crashed = bench.crashed();
      fileOf(crashed).pages.set(number, flipped(value, (number * 7) % value.length));
      const database = await crashed.open().catch((error: unknown) => error);
      if (!(database instanceof StoredDatabase)) {
        expect(database).toMatchObject({ code: 'storage_corrupt' });
        continue;
      }
      const found = await look(database);
      const { damage } = await database.verify();
      if (found !== 'storage_corrupt') expect(found).toEqual(seen);
      else {
        harmed++;
        expect(damage.join('\n')).toMatch(/damaged/);
      }
      await database.discard();
    }
    expect(harmed).toBeGreaterThan(20);
  });

  test('in a document leaves the others of its page readable, and verify names only that document', async () => {
    const { bench, seen } = await build();
    const [number, page] = must(
      [...fileOf(bench).pages].find(([, value]) => typeof value !== 'string' && textOf(value).includes('"n":20,')),
    );
    const neighbours = textOf(page).match(/"n":\d+,/g) ?? [];
    expect(neighbours.length).toBeGreaterThan(2);
    const crashed = bench.crashed();
    fileOf(crashed).pages.set(number, flipped(page, textOf(page).indexOf('"n":20,') + 4));
    const database = await crashed.open();
    const snapshot = database.snapshot();
    for (const name of Object.keys(seen.documents)) {
      const leaf = must((await snapshot.document(id(name)))?.leaves[0]);
      const body = Promise.resolve(snapshot.body(leaf));
      if (name === 'd20') await expect(body).rejects.toMatchObject({ code: 'storage_corrupt' });
      else expect(seen.documents[name]?.leaves[0]).toContain(await body);
    }
    snapshot.release();
    const { damage, lost } = await database.verify();
    expect(lost.map((revision) => revision.id)).toEqual(['d20']);
    expect(damage.filter((finding) => finding.includes('is lost'))).toEqual([
      expect.stringContaining('of d20 is lost'),
    ]);
    await database.purge(new Map(lost.map((revision) => [revision.id, [revision.rev]])));
    await database.compact();
    expect((await database.verify()).damage).toEqual([]);
    const { documents } = await seeAll(database);
    expect(documents).toEqual(Object.fromEntries(Object.entries(seen.documents).filter(([name]) => name !== 'd20')));
    await database.close();
  });

  test('in the head keeps the file from being opened', async () => {
    const { bench } = await build();
    const head = must(fileOf(bench).head);
    for (let at = 0; at < head.length; at += 3) {
      const crashed = bench.crashed();
      fileOf(crashed).head = String(flipped(head, at));
      await expect(crashed.open()).rejects.toMatchObject({ code: 'storage_corrupt' });
    }
  });

  test('keeps a file closed like a missing head does, if the file has content', async () => {
    const { bench } = await build();
    fileOf(bench).head = undefined;
    await expect(bench.open()).rejects.toMatchObject({
      code: 'storage_corrupt',
      reason: 'The head of file is missing. Restore the file from a backup.',
    });
  });

  test('in a journal record keeps the file from being opened', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await put(db, 'a', { body: '{"n":1}' });
    await put(db, 'b', { body: '{"n":2}' });
    const [first] = fileOf(bench).journal.values();
    const { number, text } = must(first);
    for (let at = 0; at < text.length; at += 3) {
      const crashed = bench.crashed();
      fileOf(crashed).journal.set(number, { number, text: String(flipped(text, at)) });
      await expect(crashed.open()).rejects.toMatchObject({
        code: 'storage_corrupt',
        reason: expect.stringContaining(`Record ${number} of the journal of file is damaged`),
      });
    }
  });

  test('in a journal record costs that record and later ones for good if the loss is accepted', async () => {
    const bench = new Bench();
    const db = await bench.open();
    for (const name of ['a', 'b', 'c', 'd']) await put(db, name, { body: '{"n":1}' });
    const numbers = [...fileOf(bench).journal.keys()];
    const number = must(numbers[1]);
    const text = must(fileOf(bench).journal.get(number)).text;
    const crashed = bench.crashed();
    fileOf(crashed).journal.set(number, { number, text: String(flipped(text, text.length - 5)) });
    crashed.repairs = [];
    const repaired = await crashed.open();
    const behind = [`record ${number + 1} with c`, `record ${number + 2} with d`].join('; ');
    expect(crashed.repairs).toEqual([
      `dropped from its journal: record ${number} (in file), which is damaged, and 2 after it, which need it: ${behind}.`,
    ]);
    expect(Object.keys((await seeAll(repaired)).documents)).toEqual(['a']);
    expect((await repaired.verify()).damage).toEqual([]);
    await put(repaired, 'b', { body: '{"n":2}' });
    await repaired.close();
    crashed.repairs = undefined;
    const again = await crashed.open();
    expect(Object.keys((await seeAll(again)).documents)).toEqual(['a', 'b']);
  });

  test('is found, and so are swapped pages and records', async () => {
    const { bench } = await build();
    const texts = [...fileOf(bench).pages].filter(([, value]) => typeof value === 'string');
    const [[one, value] = [], [other, otherValue] = []] = texts;
    const crashed = bench.crashed();
    fileOf(crashed).pages.set(must(one), must(otherValue));
    fileOf(crashed).pages.set(must(other), must(value));
    const database = await crashed.open();
    expect((await database.verify()).damage.join('\n')).toMatch(/checksum/);
  });
});
