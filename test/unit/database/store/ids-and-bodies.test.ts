import { describe, expect, test } from 'vitest';
import { Bench, leavesOf, NEW_EDITS, put, rev, seeAll, toWrite } from './harness.ts';

describe('ids and bodies', () => {
  const ODD_IDS = [
    '\u0000',
    '\t',
    'a\nb',
    '\\',
    '\\0a',
    'a/b',
    '"',
    "'",
    '😀',
    '\u{10ffff}',
    '\uffff',
    ' ',
    '_design/x',
    'ü',
  ];

  test('any id is stored unchanged, and sorted by its UTF-8 bytes', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await db.write(
      ODD_IDS.map((name) => toWrite(name, { body: JSON.stringify({ name }) })),
      NEW_EDITS,
    );
    await db.close();
    const again = await bench.open();
    const seen = await seeAll(again);
    const byBytes = [...ODD_IDS].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
    expect(seen.rows).toEqual(byBytes);
    for (const name of ODD_IDS) expect(seen.documents[name]?.leaves[0]).toContain(`=${JSON.stringify({ name })}`);
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test.each([
    ['empty', '{}'],
    ['of digits beyond a double', '{"n":12345678901234567890.10}'],
    ['a little below a page', `{"t":"${'ä'.repeat(16_000)}"}`],
    ['beyond a page', `{"t":"${'😀'.repeat(20_000)}"}`],
    ['beyond 1 MiB', `{"t":"${'0123456789'.repeat(350_000)}"}`],
    ['of exactly 1 MiB', `{"t":"${'x'.repeat(2 ** 20 - 8)}"}`],
  ])('a body %s is read as it was written, before and after it was stored', async (_what, body) => {
    const bench = new Bench();
    const db = await bench.open();
    const written = await put(db, 'a', { body });
    await put(db, 'b');
    const expected = [`${written}=${body}`];
    expect(await leavesOf(db, 'a')).toEqual(expected);
    const replayed = await bench.crashed().open();
    expect(await leavesOf(replayed, 'a')).toEqual(expected);
    expect((await replayed.verify()).damage).toEqual([]);
    await db.close();
    const again = await bench.open();
    expect(await leavesOf(again, 'a')).toEqual(expected);
    await again.compact();
    expect(await leavesOf(again, 'a')).toEqual(expected);
    expect((await again.verify()).damage).toEqual([]);
    await again.close();
  });

  test('a large replaced body frees its pages, and nothing else', async () => {
    const bench = new Bench();
    const db = await bench.open();
    const large = `{"t":"${'x'.repeat(3_000_000)}"}`;
    const first = await put(db, 'a', { body: large });
    await put(db, 'b', { body: large });
    await put(db, 'a', { rev: first, body: '{"n":2}' });
    await db.compact();
    expect((await leavesOf(db, 'b'))[0]).toBe(`${await revOf(db, 'b')}=${large}`);
    expect(await db.verify()).toMatchObject({ damage: [] });
    const { diskSize } = await db.info();
    expect(diskSize).toBeGreaterThan(3_000_000);
    expect(diskSize).toBeLessThan(3_200_000);
    await db.close();
  });
});

async function revOf(db: Awaited<ReturnType<Bench['open']>>, name: string): Promise<string> {
  const [leaf = ''] = await leavesOf(db, name);
  return rev(leaf.slice(0, leaf.indexOf('=')));
}
