import { describe, expect, test } from 'vitest';
import { createKeyOrder } from '../../../../src/base/collation/key-order.ts';
import { Pending, untilReady } from '../../../../src/base/shared/pending.ts';
import { nextTurn } from '../../../../src/base/shared/turn.ts';
import { builtinReducer } from '../../../../src/queries/views/trees/builtin-reducers.ts';
import { combineReductions, type RowList } from '../../../../src/queries/views/trees/reducer.ts';
import { ViewFixture, withReader } from '../../../support/view-fixture.ts';

const compareKeys = createKeyOrder('unicode');

function rowsOf(values: readonly unknown[]): RowList {
  const texts = values.map((value) => JSON.stringify(value));
  return { length: texts.length, keyText: String, idText: String, valueText: (index) => texts[index] ?? '' };
}

/** Some 1.5 kB of text each. */
const objects = Array.from({ length: 200 }, (_, n) =>
  Object.fromEntries(Array.from({ length: 150 }, (_unused, member) => [`m${(n + member) % 300}`, 1])),
);

describe('reducing long values', () => {
  test.each([
    ['_sum', objects, 30_000],
    ['_stats', objects.map(() => Array(150).fill(111)), 3_330_000],
    ['_top_2', objects.map((_object, n) => `${n % 7}${'x'.repeat(1_000)}`), 0],
  ])('by %s lets other work have turns', async (reduce, values, total) => {
    const reducer = builtinReducer(reduce, compareKeys);
    const rows = rowsOf(values);
    expect(() => reducer.reduce(rows)).toThrow(Pending);
    const text = await untilReady(() => reducer.reduce(rows));
    const few = rowsOf(values.slice(0, 10));
    // What is short is there at once.
    expect(reducer.reduce(few)).toBe(builtinReducer(reduce, compareKeys).reduce(few));
    const parts = Array.from({ length: 40 }, (_, n) => rowsOf(values.slice(5 * n, 5 * n + 5)));
    const combined = parts.map((part) => reducer.reduce(part));
    expect(await untilReady(() => combineReductions(reducer, combined))).toBe(text);
    const value: unknown = JSON.parse(text);
    if (reduce === '_top_2') expect(value).toEqual([`6${'x'.repeat(1_000)}`, `6${'x'.repeat(1_000)}`]);
    else expect(totalOf(value)).toBe(total);
  });

  test('is invisible to queries', async () => {
    const fixture = await ViewFixture.open();
    await fixture.write(Object.fromEntries(objects.map((value, n) => [`d${String(n).padStart(3, '0')}`, { value }])));
    const group = await fixture.group({ v: { map: 'function (doc) { emit(doc._id, doc.value); }', reduce: '_sum' } });
    await withReader(group, async (reader) => {
      const read = async () => {
        for await (const batch of reader.reduce('v')) {
          for (const { valueText } of batch) return totalOf(JSON.parse(valueText));
        }
        return undefined;
      };
      const all = await Promise.all([read(), read(), read()]);
      expect(all).toEqual([30_000, 30_000, 30_000]);
    });
    await fixture.close();
  });

  test('fails with the error of the reduce', async () => {
    const reducer = builtinReducer('_sum', compareKeys);
    const rows = rowsOf([...objects, 'x'.repeat(10)]);
    const text = await untilReady(() => reducer.reduce(rows));
    expect(text).toContain('builtin _sum function requires map values to be numbers or lists of numbers');
  });

  test('lets other requests have turns', async () => {
    const reducer = builtinReducer('_sum', compareKeys);
    const rows = rowsOf(Array.from({ length: 20 }, () => objects).flat());
    let turns = 0;
    let isDone = false;
    const others = (async () => {
      while (!isDone) {
        await nextTurn();
        turns++;
      }
    })();
    await untilReady(() => reducer.reduce(rows));
    isDone = true;
    await others;
    expect(turns).toBeGreaterThan(3);
  });
});

/** Of all numbers that are sums in it. */
function totalOf(value: unknown): number {
  if (typeof value === 'number') return value;
  if (typeof value !== 'object' || value === null) return 0;
  if ('sum' in value) return Number(value.sum);
  return Object.values(value).reduce((total: number, member: unknown) => total + totalOf(member), 0);
}
