import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import { ThreadTime } from '../../../support/thread-time.ts';
import { createStore, useStoreFolder } from './stores.ts';

useStoreFolder();

describe('long texts in LMDB', () => {
  const text = 'a character takes up to 4 bytes: ü€😀 '.repeat(60_000);
  const long = { number: 2, text };
  const pages = [
    { number: 2, value: text.slice(0, 1_000_000) },
    { number: 3, value: new Uint8Array(100).fill(7) },
    { number: 4, value: text.slice(1_000_000, 1_900_000) },
  ];

  test('are stored unchanged', async () => {
    const file = await createStore().open('file', 'create');
    await file.commit(relaxed({ journal: long, writePages: pages }));
    await file.close();
    const reopened = await createStore().open('file', 'open');
    expect(reopened.opening.journal).toEqual([long]);
    expect(await reopened.read(2, 'text')).toBe(pages[0]?.value);
    expect(await reopened.read(3, 'bytes')).toEqual(pages[1]?.value);
    expect(await reopened.read(4, 'text')).toBe(pages[2]?.value);
  });

  test('let other work have turns while they are encoded', async () => {
    const file = await createStore().open('file', 'create');
    // Takes more than one turn on any machine.
    const { longest, all } = await turnsOf(file.commit(relaxed({ journal: { number: 2, text: text.repeat(30) } })));
    // Of processor time. In one go it would be more than half of it.
    expect(longest).toBeLessThan(0.45 * all);
  });
});

/** Processor time of this thread until the work is done: of the longest turn, and of all. */
async function turnsOf(work: Promise<unknown>): Promise<{ readonly longest: number; readonly all: number }> {
  const time = new ThreadTime();
  try {
    const begun = time.ms();
    let longest = 0;
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    for (let last = time.ms(); !isOver; last = time.ms()) {
      await turn();
      longest = Math.max(longest, time.ms() - last);
    }
    await work;
    return { longest, all: time.ms() - begun };
  } finally {
    time.close();
  }
}
