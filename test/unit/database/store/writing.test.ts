import { describe, expect, test } from 'vitest';
import { Bench, id, leavesOf, put, rev, seeAll, settle, toWrite } from './harness.ts';

// MD5 over `deleted \n parent \n body`, worked out with md5sum.
const FIRST = '1-106ce696331929f76acb254ffa1f37e6';
const SECOND = '2-065b161850b73673032b7303a21122a8';
const TOMBSTONE = '3-8f9b85a3aba08bf296e72ebd36fd4c4c';
const FOURTH = '4-ffd8cf974a8c41e57315d743fe627261';

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

describe('revisions of new edits', () => {
  test('depend on the edit only, through update, deletion and recreation', async () => {
    const db = await new Bench().open();
    expect(await put(db, 'a', { body: '{"n":1}' })).toBe(FIRST);
    expect(await put(db, 'a', { rev: FIRST, body: '{"n":2}' })).toBe(SECOND);
    expect(await put(db, 'a', { rev: SECOND, deleted: true, body: '{}' })).toBe(TOMBSTONE);
    expect(await put(db, 'a', { body: '{"n":1}' })).toBe(FOURTH);
    expect(await leavesOf(db, 'a')).toEqual([`${FOURTH}={"n":1}`]);
    expect(await put(db, 'another id', { body: '{"n":1}' })).toBe(FIRST);
    await db.close();
  });

  test("are refused for a generation that can't be counted, and the document is unchanged", async () => {
    const db = await new Bench().open();
    const last = '9007199254740991-a';
    await db.write([toWrite('a', { rev: last })], { newEdits: false, durability: 'relaxed' });
    await expect(put(db, 'a', { rev: last, body: '{"n":2}' })).rejects.toMatchObject({ code: 'bad_request' });
    expect(await leavesOf(db, 'a')).toEqual([`${last}={"n":1}`]);
    await db.close();
  });

  test('refused for their generation refuse all others of an all_or_nothing request', async () => {
    const db = await new Bench().open();
    const last = '9007199254740991-a';
    await db.write([toWrite('a', { rev: last })], { newEdits: false, durability: 'relaxed' });
    const writes = [toWrite('b'), toWrite('a', { rev: last, body: '{"n":2}' }), toWrite('c')];
    const refused = db.write(writes, { newEdits: true, durability: 'relaxed', allOrNothing: true });
    const other = put(db, 'd');
    await expect(refused).rejects.toMatchObject({ code: 'bad_request' });
    expect(await other).toBe(FIRST);
    expect((await seeAll(db)).changes).toEqual(['1 a', '2 d']);
    await db.close();
  });
});

describe('the conflict check', () => {
  test.each([
    ['no revision on a live document', {}],
    ['a revision that was replaced', { rev: FIRST }],
    ['a revision that never was', { rev: '1-00000000000000000000000000000000' }],
  ])('refuses %s', async (_what, write) => {
    const db = await new Bench().open();
    await put(db, 'a', { body: '{"n":1}' });
    await put(db, 'a', { rev: FIRST, body: '{"n":2}' });
    await expect(put(db, 'a', { ...write, body: '{"n":3}' })).rejects.toMatchObject({ code: 'conflict' });
    expect(await leavesOf(db, 'a')).toEqual([`${SECOND}={"n":2}`]);
    expect(db.updateSeq).toBe(2);
    await db.close();
  });

  test('refuses a revision of a missing document', async () => {
    const db = await new Bench().open();
    await expect(put(db, 'a', { rev: FIRST })).rejects.toMatchObject({ code: 'conflict' });
    expect(await seeAll(db)).toMatchObject({ documents: {}, updateSeq: 0, docCount: 0 });
    await db.close();
  });

  test('lets a losing leaf and a deleted one be extended', async () => {
    const db = await new Bench().open();
    const merged = { newEdits: false, durability: 'relaxed' } as const;
    await db.write(
      [toWrite('a', { rev: '2-z', ids: ['z', 'r'] }), toWrite('a', { rev: '2-b', ids: ['b', 'r'] })],
      merged,
    );
    await db.write([toWrite('a', { rev: '2-c', ids: ['c', 'r'], deleted: true })], merged);
    const losing = await put(db, 'a', { rev: '2-b', deleted: true, body: '{}' });
    expect(losing).toMatch(/^3-/);
    const revived = await put(db, 'a', { rev: '2-c', body: '{"n":3}' });
    expect(await leavesOf(db, 'a')).toEqual([`${revived}={"n":3}`, '2-z={"n":1}', `${losing}!={}`]);
    await db.close();
  });
});

describe('a batch', () => {
  test('returns one outcome per write, in order, and of two writes of one leaf the second conflicts', async () => {
    const db = await new Bench().open();
    const writes = [toWrite('b'), toWrite('a'), toWrite('b', { body: '{"n":2}' }), toWrite('c', { rev: FIRST })];
    const outcomes = await db.write(writes, NEW_EDITS);
    expect(outcomes.map((outcome) => [outcome.id, outcome.ok ? outcome.rev : outcome.error.code])).toEqual([
      ['b', FIRST],
      ['a', FIRST],
      ['b', 'conflict'],
      ['c', 'conflict'],
    ]);
    expect((await seeAll(db)).changes).toEqual(['1 b', '2 a']);
    await db.close();
  });

  test('has a conflict also if the second write names the result of the first, or follows its deletion', async () => {
    const db = await new Bench().open();
    const writes = [toWrite('a'), toWrite('a', { rev: FIRST }), toWrite('b', { deleted: true }), toWrite('b')];
    const outcomes = await db.write(writes, NEW_EDITS);
    expect(outcomes.map((outcome) => outcome.ok || outcome.error.code)).toEqual([true, 'conflict', true, 'conflict']);
    expect((await seeAll(db)).changes).toEqual(['1 a', '2 b deleted']);
    await db.close();
  });

  test('edits each leaf of a document once, whether it wins, loses or is deleted', async () => {
    const db = await new Bench().open();
    const branches = [
      toWrite('a', { rev: '2-z', ids: ['z', 'r'] }),
      toWrite('a', { rev: '2-b', ids: ['b', 'r'] }),
      toWrite('a', { rev: '2-c', ids: ['c', 'r'], deleted: true }),
    ];
    await db.write(branches, { newEdits: false, durability: 'relaxed' });
    const outcomes = await db.write(
      [
        toWrite('a', { rev: '2-b', deleted: true, body: '{}' }),
        toWrite('a', { rev: '2-z', body: '{"n":3}' }),
        toWrite('a', { rev: '2-z', body: '{"n":4}' }),
        toWrite('a', { body: '{"n":5}' }),
        toWrite('a', { rev: '2-c', body: '{"n":6}' }),
        toWrite('a', { rev: '2-b', body: '{"n":7}' }),
      ],
      NEW_EDITS,
    );
    const results = outcomes.map((outcome) => outcome.ok || outcome.error.code);
    expect(results).toEqual([true, true, 'conflict', 'conflict', true, 'conflict']);
    const [gone, merged, , , revived] = outcomes.map((outcome) => outcome.rev);
    const leaves = await leavesOf(db, 'a');
    expect([...leaves].sort()).toEqual([`${gone}!={}`, `${merged}={"n":3}`, `${revived}={"n":6}`].sort());
    expect(leaves.at(-1)).toBe(`${gone}!={}`);
    await db.close();
  });

  test('of a deleted document accepts a write without a revision first, and other leaves after it', async () => {
    const db = await new Bench().open();
    const branches = [
      toWrite('a', { rev: '2-z', ids: ['z', 'r'], deleted: true }),
      toWrite('a', { rev: '2-b', ids: ['b', 'r'], deleted: true }),
    ];
    await db.write(branches, { newEdits: false, durability: 'relaxed' });
    const writes = [toWrite('a'), toWrite('a', { rev: '2-b', deleted: true }), toWrite('a', { rev: '2-z' })];
    const outcomes = await db.write(writes, NEW_EDITS);
    expect(outcomes.map((outcome) => outcome.ok || outcome.error.code)).toEqual([true, true, 'conflict']);
    const turned = await db.write([toWrite('b', { deleted: true })], NEW_EDITS);
    const rev = turned[0]?.rev ?? '';
    const late = await db.write([toWrite('b', { rev, deleted: true }), toWrite('b')], NEW_EDITS);
    expect(late.map((outcome) => outcome.ok || outcome.error.code)).toEqual([true, 'conflict']);
    await db.close();
  });

  test('edits many leaves of a document, but not the revisions that it created', async () => {
    const db = await new Bench().open();
    const hashes = Array.from({ length: 40 }, (_unused, index) => `h${index}`);
    await db.write(
      hashes.map((hash) => toWrite('a', { rev: `1-${hash}`, ids: [hash] })),
      { newEdits: false, durability: 'relaxed' },
    );
    const edits = hashes.map((hash) => toWrite('a', { rev: `1-${hash}`, deleted: true, body: '{}' }));
    const expected = await db.write(edits, NEW_EDITS);
    expect(expected.every((outcome) => outcome.ok)).toBe(true);
    expect(await seeAll(db)).toMatchObject({ docCount: 0, docDelCount: 1 });
    const other = await new Bench().open();
    await other.write(
      hashes.map((hash) => toWrite('a', { rev: `1-${hash}`, ids: [hash] })),
      { newEdits: false, durability: 'relaxed' },
    );
    const onWhatItMakes = expected.map(({ rev }) => toWrite('a', { rev: rev ?? '' }));
    const outcomes = await other.write([...edits, ...onWhatItMakes], NEW_EDITS);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([...hashes.map(() => true), ...hashes.map(() => false)]);
    await Promise.all([db.close(), other.close()]);
  });

  test('with all_or_nothing makes a branch for a stale revision, and nothing conflicts', async () => {
    const db = await new Bench().open();
    await put(db, 'a', { body: '{"n":1}' });
    await put(db, 'a', { rev: FIRST, body: '{"n":2}' });
    const writes = [toWrite('a', { rev: FIRST, body: '{"n":3}' }), toWrite('a', { body: '{"n":4}' })];
    const outcomes = await db.write(writes, { ...NEW_EDITS, allOrNothing: true });
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, true]);
    const [branch, root] = outcomes.map((outcome) => outcome.rev);
    const leaves = await leavesOf(db, 'a');
    expect([...leaves].sort()).toEqual([`${root}={"n":4}`, `${SECOND}={"n":2}`, `${branch}={"n":3}`].sort());
    expect(root).toMatch(/^1-/);
    expect(branch).toMatch(/^2-/);
    await db.close();
  });

  test('without writes does nothing', async () => {
    const bench = new Bench();
    const db = await bench.open();
    expect(await db.write([], NEW_EDITS)).toEqual([]);
    expect(db.updateSeq).toBe(0);
    await db.close();
  });
});

describe('sequence numbers and counts', () => {
  test('are assigned to each stored edit in order, and the document leaves its old place', async () => {
    const db = await new Bench().open();
    await put(db, 'a');
    await put(db, 'b');
    await put(db, 'a', { rev: FIRST, body: '{"n":2}' });
    await put(db, 'b', { rev: FIRST, deleted: true, body: '{}' });
    expect(await seeAll(db)).toMatchObject({
      changes: ['3 a', '4 b deleted'],
      rows: ['a'],
      docCount: 1,
      docDelCount: 1,
      updateSeq: 4,
    });
    await put(db, 'b');
    expect(await seeAll(db)).toMatchObject({ changes: ['3 a', '5 b'], docCount: 2, docDelCount: 0 });
    await db.close();
  });

  test('are in info() with sizes and the unchanging identity of the file', async () => {
    const bench = new Bench();
    const db = await bench.open();
    const empty = await db.info();
    expect(empty).toMatchObject({ name: 'db', docCount: 0, docDelCount: 0, updateSeq: 0, purgeSeq: 0, dataSize: 0 });
    expect(empty).toMatchObject({ uuid: '01'.repeat(16), instanceStartTime: '1700000000000000', diskFormatVersion: 2 });
    await put(db, 'a', { body: `{"text":"${'x'.repeat(1_000)}"}` });
    const full = await db.info();
    expect(full).toMatchObject({ docCount: 1, updateSeq: 1, committedUpdateSeq: 1, compactRunning: false });
    expect(full.dataSize).toBeGreaterThan(1_000);
    expect(full.diskSize).toBeGreaterThan(1_000);
    await db.close();
    bench.clock.time += 5_000;
    const again = await bench.open();
    expect(await again.info()).toMatchObject({
      uuid: empty.uuid,
      instanceStartTime: empty.instanceStartTime,
      updateSeq: 1,
    });
    await again.close();
  });
});

describe('delayed writes', () => {
  test('are written by the next flush, in order, and conflicts are dropped silently', async () => {
    const db = await new Bench().open();
    await db.writeDelayed([toWrite('a')]);
    await db.writeDelayed([toWrite('b'), toWrite('a', { body: '{"n":2}' })]);
    expect(db.updateSeq).toBe(0);
    await db.flush();
    expect(await seeAll(db)).toMatchObject({ changes: ['1 a', '2 b'] });
    expect(await leavesOf(db, 'a')).toEqual([`${FIRST}={"n":1}`]);
    await db.close();
  });

  test('are written when the database closes', async () => {
    const bench = new Bench();
    const db = await bench.open();
    await db.writeDelayed([toWrite('a')]);
    await db.close();
    const again = await bench.open();
    expect((await seeAll(again)).rows).toEqual(['a']);
    await again.close();
  });

  test('of which a thousand wait are written at once, without a timer', async () => {
    const db = await new Bench().open();
    await db.writeDelayed(Array.from({ length: 1_000 }, (_unused, index) => toWrite(`d${index}`)));
    await settle();
    expect(db.updateSeq).toBe(1_000);
    await db.close();
  });

  test('with 4 MiB of text are written at once', async () => {
    const db = await new Bench().open();
    await db.writeDelayed([toWrite('a', { body: `{"t":"${'x'.repeat(4 * 1024 * 1024)}"}` })]);
    await settle();
    expect((await db.info()).docCount).toBe(1);
    await db.close();
  });

  test('can be added in any number at once', async () => {
    const db = await new Bench().open();
    await db.writeDelayed(Array.from({ length: 200_000 }, () => toWrite('same')));
    await db.flush();
    expect((await seeAll(db)).changes).toEqual(['1 same']);
    await db.close();
  });
});

/** A database whose storage holds back every commit until `goOn` is called. */
async function openStalled() {
  let goOn = () => {};
  const going = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const hooks: { beforeCommit?: () => Promise<void> } = {};
  const db = await new Bench({ hooks }).open();
  hooks.beforeCommit = () => going;
  return { db, goOn };
}

const settles = (promise: unknown) => {
  let settled = false;
  const note = () => {
    settled = true;
  };
  Promise.resolve(promise).then(note, note);
  return () => settled;
};

describe('delayed writes while storage is slow', () => {
  test.each([
    ['ten thousand documents', Array.from({ length: 10_000 }, (_unused, index) => toWrite(`d${index}`)), 10_001],
    ['16 MiB of text', [toWrite('large', { body: JSON.stringify({ s: 'x'.repeat(16 * 1024 * 1024) }) })], 2],
  ])('of %s are accepted, and later ones wait for room', async (_what, writes, documents) => {
    const { db, goOn } = await openStalled();
    expect(db.writeDelayed(writes)).toBe(undefined);
    const late = db.writeDelayed([toWrite('late')]);
    const isTaken = settles(late);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isTaken()).toBe(false);
    goOn();
    await late;
    await db.flush();
    expect((await seeAll(db)).docCount).toBe(documents);
    await db.close();
  });

  test('wait so that no more are accepted than there is room for', async () => {
    const { db, goOn } = await openStalled();
    const half = (name: string) => [toWrite(name, { body: JSON.stringify({ s: name.repeat(8 * 1024 * 1024) }) })];
    await db.writeDelayed(half('a'));
    await db.writeDelayed(half('b'));
    const late = ['c', 'd', 'e'].map((name) => db.writeDelayed(half(name)));
    const taken = late.map(settles);
    goOn();
    await late[0];
    expect(taken.map((isTaken) => isTaken())).toContain(false);
    await Promise.all(late);
    await db.flush();
    expect((await seeAll(db)).rows).toEqual(['a', 'b', 'c', 'd', 'e']);
    await db.close();
  });

  test('that wait for room fail with storage_closed when the database closes', async () => {
    const { db, goOn } = await openStalled();
    await db.writeDelayed(Array.from({ length: 10_000 }, () => toWrite('a')));
    const late = db.writeDelayed([toWrite('late')]);
    const closed = db.close();
    goOn();
    await expect(late).rejects.toMatchObject({ code: 'storage_closed' });
    await closed;
  });

  test('that wait for room fail with storage_deleted when the database is deleted', async () => {
    const { db, goOn } = await openStalled();
    await db.writeDelayed(Array.from({ length: 10_000 }, () => toWrite('a')));
    const late = db.writeDelayed([toWrite('late')]);
    const gone = db.discard();
    goOn();
    await expect(late).rejects.toMatchObject({ code: 'storage_deleted' });
    await gone;
  });
});

describe('change listeners', () => {
  test('are called once per commit that changed documents, and not after they unsubscribe', async () => {
    const db = await new Bench().open();
    const heard: number[] = [];
    const leave = db.onChange((seq) => heard.push(seq));
    await db.write([toWrite('a'), toWrite('b')], NEW_EDITS);
    await db.writeLocal(id('_local/x'), undefined, '{}', { durability: 'relaxed' });
    await db.setSecurity('{"admins":{}}');
    await put(db, 'c');
    leave();
    await put(db, 'd');
    expect(heard).toEqual([2, 3]);
    await db.close();
  });

  test('that throw affect neither the write nor other listeners', async () => {
    const bench = new Bench();
    const db = await bench.open();
    const heard: number[] = [];
    db.onChange(() => {
      throw new Error('listener');
    });
    db.onChange((seq) => heard.push(seq));
    await put(db, 'a');
    await put(db, 'b');
    expect(heard).toEqual([1, 2]);
    expect(bench.failures).toEqual([]);
    expect(await leavesOf(db, 'a')).toEqual([`${FIRST}={"n":1}`]);
    await db.close();
  });
});

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
