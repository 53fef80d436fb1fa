import { describe, expect, test } from 'vitest';
import type { RowRange } from '../../../../src/database/store/contract.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { Bench, id, merge, put, TINY, TINY_PAGES, toWrite } from './harness.ts';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

/** Documents a00 to a59; every third one is deleted. */
async function openSixty(): Promise<StoredDatabase> {
  const db = await new Bench({ settings: TINY, supports: TINY_PAGES }).open();
  const names = Array.from({ length: 60 }, (_unused, index) => `a${String(index).padStart(2, '0')}`);
  const outcomes = await db.write(
    names.map((name) => toWrite(name, { body: JSON.stringify({ name }) })),
    NEW_EDITS,
  );
  const deletions = outcomes.filter((_outcome, index) => index % 3 === 0);
  await db.write(
    deletions.map(({ id: name, rev = '' }) => toWrite(name, { rev, deleted: true, body: '{}' })),
    NEW_EDITS,
  );
  return db;
}

const LIVE = Array.from({ length: 60 }, (_unused, index) => index)
  .filter((index) => index % 3 !== 0)
  .map((index) => `a${String(index).padStart(2, '0')}`);

async function rowsOf(db: StoredDatabase, range: RowRange): Promise<string[]> {
  const snapshot = db.snapshot();
  const rows: string[] = [];
  for await (const batch of snapshot.rows(range)) for (const row of batch) rows.push(row.id);
  snapshot.release();
  return rows;
}

describe('rows', () => {
  test('are the live documents, in both directions', async () => {
    const db = await openSixty();
    expect(await rowsOf(db, {})).toEqual(LIVE);
    expect(await rowsOf(db, { descending: true })).toEqual([...LIVE].reverse());
    await db.close();
  });

  test.each<[string, RowRange, string[]]>([
    ['inclusive bounds', { start: 'a10', end: 'a14' }, ['a10', 'a11', 'a13', 'a14']],
    ['exclusive bounds', { start: 'a10', end: 'a14', startInclusive: false, endInclusive: false }, ['a11', 'a13']],
    ['bounds between ids', { start: 'a099', end: 'a109' }, ['a10']],
    ['descending', { start: 'a10', end: 'a14', descending: true }, ['a14', 'a13', 'a11', 'a10']],
    ['a bound that is deleted', { start: 'a12', end: 'a13' }, ['a13']],
    ['nothing', { start: 'b' }, []],
    ['bounds the wrong way round', { start: 'a14', end: 'a10' }, []],
  ])('of a range are bounded: %s', async (_what, range, expected) => {
    const db = await openSixty();
    expect(await rowsOf(db, range)).toEqual(expected);
    await db.close();
  });

  test.each([0, 1, 2, 7, 19, 38, 39, 40, 41, 1_000])('with a skip of %i count live documents only', async (skip) => {
    const db = await openSixty();
    expect(await rowsOf(db, { skip })).toEqual(LIVE.slice(skip));
    expect(await rowsOf(db, { skip, descending: true })).toEqual([...LIVE].reverse().slice(skip));
    const inner = LIVE.filter((name) => name > 'a10' && name < 'a50');
    const range = { start: 'a10', end: 'a50', startInclusive: false, endInclusive: false };
    expect(await rowsOf(db, { ...range, skip })).toEqual(inner.slice(skip));
    expect(await rowsOf(db, { ...range, skip, descending: true })).toEqual([...inner].reverse().slice(skip));
    await db.close();
  });

  test('have an offset that counts the live documents before the range, in its direction', async () => {
    const db = await openSixty();
    const snapshot = db.snapshot();
    expect(await snapshot.offset({})).toBe(0);
    expect(await snapshot.offset({ skip: 3 })).toBe(3);
    expect(await snapshot.offset({ start: 'a10' })).toBe(6);
    expect(await snapshot.offset({ start: 'a10', startInclusive: false })).toBe(7);
    expect(await snapshot.offset({ start: 'a10', skip: 2 })).toBe(8);
    expect(await snapshot.offset({ end: 'a50', descending: true })).toBe(6);
    expect(await snapshot.offset({ end: 'a50', endInclusive: false, descending: true })).toBe(7);
    expect(await snapshot.offset({ start: 'zzz' })).toBe(40);
    expect(await snapshot.offset({ skip: 1_000 })).toBe(40);
    snapshot.release();
    await db.close();
  });

  test('have revision and record of their document', async () => {
    const db = await openSixty();
    const snapshot = db.snapshot();
    for await (const batch of snapshot.rows({ start: 'a01', end: 'a01' })) {
      const [row] = batch;
      const [leaf] = (await row?.record())?.leaves ?? [];
      if (row === undefined || leaf === undefined) throw new Error('no row');
      expect(row.rev).toBe(`1-${leaf.hash}`);
      expect(await snapshot.body(leaf)).toBe('{"name":"a01"}');
    }
    snapshot.release();
    await db.close();
  });
});

describe('changes', () => {
  async function changesOf(db: StoredDatabase, since: number, descending = false): Promise<string[]> {
    const snapshot = db.snapshot();
    const found: string[] = [];
    for await (const batch of snapshot.changes({ since, descending })) {
      for (const { seq, id: name, deleted, revs } of batch) {
        found.push(`${seq} ${name}${deleted ? ' deleted' : ''} ${revs.join()}`);
      }
    }
    snapshot.release();
    return found;
  }

  test('begin after `since`, with each document once, all leaves, and the winner first', async () => {
    const db = await new Bench({ settings: TINY, supports: TINY_PAGES }).open();
    await merge(db, 'a', { rev: '1-a' });
    await merge(db, 'b', { rev: '1-b' });
    await merge(db, 'c', { rev: '1-c' });
    await merge(db, 'a', { rev: '1-x' });
    await merge(db, 'b', { rev: '2-d', ids: ['d', 'b'], deleted: true, body: '{}' });
    const all = ['3 c 1-c', '4 a 1-x,1-a', '5 b deleted 2-d'];
    expect(await changesOf(db, 0)).toEqual(all);
    expect(await changesOf(db, 3)).toEqual(all.slice(1));
    expect(await changesOf(db, 5)).toEqual([]);
    expect(await changesOf(db, 99)).toEqual([]);
    expect(await changesOf(db, 0, true)).toEqual([...all].reverse());
    expect(await changesOf(db, 3, true)).toEqual(['5 b deleted 2-d', '4 a 1-x,1-a']);
    await db.close();
  });

  test("of a deleted winner with a live loser don't make the document deleted", async () => {
    const db = await new Bench().open();
    await merge(db, 'a', { rev: '1-a' });
    await merge(db, 'a', { rev: '5-e', deleted: true, body: '{}' });
    expect(await changesOf(db, 0)).toEqual(['2 a 1-a,5-e']);
    await db.close();
  });
});

describe('documents and bodies', () => {
  test('are returned in the requested order, also repeated and missing ones', async () => {
    const db = await openSixty();
    const snapshot = db.snapshot();
    const asked = ['a31', 'nope', 'a01', 'a31', 'a00'].map(id);
    const records = await snapshot.documents(asked);
    expect(records.map((record) => record?.id)).toEqual(['a31', undefined, 'a01', 'a31', 'a00']);
    const leaves = records.flatMap((record) => record?.leaves ?? []);
    expect(await snapshot.bodies(leaves)).toEqual(['{"name":"a31"}', '{"name":"a01"}', '{"name":"a31"}', '{}']);
    expect(await snapshot.document(id('nope'))).toBeUndefined();
    expect(await snapshot.documents([])).toEqual([]);
    snapshot.release();
    await db.close();
  });

  test('include ancestors with bodies until a compaction, and unseen ancestors without', async () => {
    const db = await new Bench().open();
    const first = await put(db, 'a', { body: '{"n":1}' });
    await put(db, 'a', { rev: first, body: '{"n":2}' });
    await merge(db, 'b', { rev: '2-b', ids: ['b', 'a'] });
    const snapshot = db.snapshot();
    const [a, b] = await snapshot.documents([id('a'), id('b')]);
    const [parent, unseen] = [a?.leaves[0]?.parent, b?.leaves[0]?.parent];
    if (parent === undefined || unseen === undefined) throw new Error('no ancestors');
    expect(await snapshot.body(parent)).toBe('{"n":1}');
    expect(unseen.hash).toBe('a');
    expect(await snapshot.body(unseen)).toBeUndefined();
    snapshot.release();
    await db.close();
  });
});

describe('current() of a document', () => {
  const open = () => new Bench().open();

  /** By a snapshot. */
  async function winnerOf(db: StoredDatabase, name: string) {
    const snapshot = db.snapshot();
    const winner = (await snapshot.document(id(name)))?.leaves[0];
    const body = winner && (await snapshot.body(winner));
    snapshot.release();
    return winner && { rev: `${winner.generation}-${winner.hash}`, body };
  }

  test('returns the winner with its body synchronously', async () => {
    const db = await open();
    const first = await put(db, 'd', { body: '{"n":1}' });
    expect(db.current(id('d'))).toEqual({ rev: first, body: '{"n":1}' });
    const second = await put(db, 'd', { rev: first, body: '{"n":2}' });
    expect(db.current(id('d'))).toEqual({ rev: second, body: '{"n":2}' });
    expect(await put(db, 'empty', { body: '{}' })).toBe(db.current(id('empty'))?.rev);
    expect(db.current(id('empty'))?.body).toBe('{}');
    await db.close();
  });

  test('returns the winning one of several leaves', async () => {
    const db = await open();
    const hashes = ['a', 'c', 'b'].map((digit) => digit.repeat(32));
    for (const hash of hashes) {
      await merge(db, 'd', { rev: `2-${hash}`, ids: [hash, '0'.repeat(32)], body: `{"hash":"${hash}"}` });
    }
    const [, wins = ''] = hashes;
    expect(db.current(id('d'))).toEqual({ rev: `2-${wins}`, body: `{"hash":"${wins}"}` });
    expect(await winnerOf(db, 'd')).toEqual(db.current(id('d')));
    await db.close();
  });

  test('returns nothing for deleted, missing or large documents, and for revisions with foreign hashes', async () => {
    const db = await open();
    const gone = await put(db, 'gone', { body: '{"n":1}' });
    await put(db, 'gone', { rev: gone, deleted: true, body: '{"why":"x"}' });
    await put(db, 'large', { body: JSON.stringify({ text: 'x'.repeat(1_000_000) }) });
    await merge(db, 'foreign', { rev: '1-abc', ids: ['abc'], body: '{"n":1}' });
    for (const name of ['gone', 'large', 'foreign', 'missing']) expect(db.current(id(name))).toBeUndefined();
    expect(await winnerOf(db, 'foreign')).toEqual({ rev: '1-abc', body: '{"n":1}' });
    await db.close();
  });

  test('returns nothing for a document that must be read first, and the winner after a snapshot read it', async () => {
    const bench = new Bench();
    const former = await bench.open();
    const rev = await put(former, 'd', { body: '{"n":1}' });
    await former.close();
    expect(former.current(id('d'))).toBeUndefined();
    const db = await bench.open();
    expect(db.current(id('d'))).toBeUndefined();
    expect(await winnerOf(db, 'd')).toEqual({ rev, body: '{"n":1}' });
    expect(db.current(id('d'))).toEqual({ rev, body: '{"n":1}' });
    await db.purge(new Map([[id('d'), [rev]]]));
    expect(db.current(id('d'))).toBeUndefined();
    await db.close();
  });

  test('agrees with a snapshot for all documents', async () => {
    const db = await openSixty();
    for (let index = 0; index < 60; index += 1) {
      const name = `a${String(index).padStart(2, '0')}`;
      const told = await winnerOf(db, name);
      expect(db.current(id(name))).toEqual(LIVE.includes(name) ? told : undefined);
    }
    await db.close();
  });
});
