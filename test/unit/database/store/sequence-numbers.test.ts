import { describe, expect, test } from 'vitest';
import { Bench, put, seeAll } from './harness.ts';
import { FIRST } from './known-revisions.ts';

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
