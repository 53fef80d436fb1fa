import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createKeyOrder } from '../../../../src/base/collation/key-order.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import type { MappedRows } from '../../../../src/queries/sandbox/contract.ts';
import { valuesInOrder as valuesInSteps } from '../../../../src/queries/views/updating/value-order.ts';
import { rowsOf, ViewFixture, withReader } from '../../../support/view-fixture.ts';

const valuesInOrder = (result: MappedRows) => atOnce(valuesInSteps(result));

/** The values of one document that emitted these pairs. */
const ordered = (pairs: readonly (readonly [key: string, value: string])[]) =>
  valuesInOrder({ counts: [pairs.length], keys: pairs.map(([key]) => key), values: pairs.map(([, value]) => value) });

describe('the values that one document emitted with one key', () => {
  test('are sorted in raw order', () => {
    const values = ['"a"', '[1]', '{"x":1}', 'true', 'null', 'false', '10', '9', '"B"', '[]', '{}'];
    const sorted = ['9', '10', 'false', 'null', 'true', '{}', '{"x":1}', '[]', '[1]', '"B"', '"a"'];
    expect(ordered(values.map((value) => ['1', value]))).toEqual(sorted);
  });

  test('change places only with each other', () => {
    expect(
      ordered([
        ['"a"', '3'],
        ['"b"', '2'],
        ['"a"', '1'],
        ['"c"', '0'],
        ['"b"', '1'],
      ]),
    ).toEqual(['1', '1', '3', '0', '2']);
  });

  test('of another document keep their places', () => {
    const keys = ['1', '1', '1', '1'];
    expect(valuesInOrder({ counts: [0, 2, 0, 2], keys, values: ['4', '3', '2', '1'] })).toEqual(['3', '4', '1', '2']);
  });

  test('are unchanged if they are already sorted', () => {
    const values = ['3', '2', '2'];
    expect(valuesInOrder({ counts: [1, 2], keys: ['1', '1', '1'], values })).toBe(values);
    expect(valuesInOrder({ counts: [3], keys: ['1', '2', '3'], values })).toBe(values);
  });

  test('can be nested more deeply than can be compared', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(ordered([deep, '"z"', deep, '1'].map((value) => ['1', value]))).toEqual(['1', '"z"', deep, deep]);
  });

  test('agree with a simple sort', () => {
    const order = createKeyOrder('raw');
    const pair = fc.tuple(
      fc.constantFrom('1', '2', '"a"'),
      fc.jsonValue({ maxDepth: 1 }).map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(fc.array(fc.array(pair, { maxLength: 14 }), { maxLength: 4 }), (documents) => {
        const expected = documents.map((pairs) => {
          const byKey = new Map<string, string[]>();
          for (const [key, value] of pairs) byKey.set(key, [...(byKey.get(key) ?? []), value]);
          for (const values of byKey.values()) values.sort((left, right) => order(JSON.parse(left), JSON.parse(right)));
          return pairs.map(([key]) => byKey.get(key)?.shift());
        });
        const rows = documents.flat();
        const counts = documents.map(({ length }) => length);
        const keys = rows.map(([key]) => key);
        expect(valuesInOrder({ counts, keys, values: rows.map(([, value]) => value) })).toEqual(expected.flat());
      }),
    );
  });
});

test('an index has the same rows after an update as after a build', async () => {
  const fixture = await ViewFixture.open();
  const map = 'function (doc) { doc.v.forEach(function (value) { emit(1, value); }); emit(0, 5); }';
  const open = () => fixture.group({ view: { map } });
  await fixture.write({ a: { v: [3, 1, 2] }, b: { v: ['x', 1] } });
  await withReader(await open(), async (reader) => {
    expect((await rowsOf(reader, 'view')).map(([id, key, value]) => [id, key, value])).toEqual([
      ['a', 0, 5],
      ['b', 0, 5],
      ['a', 1, 1],
      ['a', 1, 2],
      ['a', 1, 3],
      ['b', 1, 1],
      ['b', 1, 'x'],
    ]);
  });
  await fixture.write({ a: { v: [2, null, 9, 1] }, b: { v: [] } });
  await withReader(await open(), async (reader) => {
    expect((await rowsOf(reader, 'view')).map(([id, key, value]) => [id, key, value])).toEqual([
      ['a', 0, 5],
      ['b', 0, 5],
      ['a', 1, 1],
      ['a', 1, 2],
      ['a', 1, 9],
      ['a', 1, null],
    ]);
  });
  await fixture.close();
});
