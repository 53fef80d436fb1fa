import { describe, expect, test } from 'vitest';
import { Bench, id, leavesOf, NEW_EDITS, put, toWrite } from './harness.ts';
import { FIRST } from './known-revisions.ts';

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
