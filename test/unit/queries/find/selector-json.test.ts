import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isDatabaseError } from '../../../../src/base/errors/database-error.ts';
import { selectorJson } from '../../../../src/queries/find/selectors/selector.ts';
import { parseSelector } from '../../../../src/queries/find/selectors/selector-parser.ts';

const normal = (selector: unknown) => selectorJson(parseSelector(selector));

test('a selector is written with explicit operators, and several conditions as a list', () => {
  expect(normal({ type: 'x' })).toEqual({ type: { $eq: 'x' } });
  expect(normal({ a: { b: 1, c: { $gt: 2 } } })).toEqual({ $and: [{ 'a.b': { $eq: 1 } }, { 'a.c': { $gt: 2 } }] });
  expect(normal({ $not: { a: { $size: 1 } } })).toEqual({ a: { $not: { $size: 1 } } });
  expect(normal({ a: { $elemMatch: { $gt: 1, $lt: 3 } } })).toEqual({
    a: { $elemMatch: { $and: [{ $gt: 1 }, { $lt: 3 }] } },
  });
});

test('an empty combination is dropped at the top, and kept inside', () => {
  expect(normal({})).toEqual({});
  expect(normal({ $or: [] })).toEqual({});
  expect(normal({ a: 1, $or: [] })).toEqual({ $and: [{ a: { $eq: 1 } }, { $or: [] }] });
  expect(normal({ a: { $elemMatch: { $and: [] } } })).toEqual({ a: { $elemMatch: { $and: [] } } });
});

test('a written selector is read as the same selector', () => {
  const names = fc.constantFrom('a', 'b.c', 'd\\.e', '_id', '__proto__', '$and', '$or', '$nor', '$not', '$eq', '$gt');
  const nesting = fc.constantFrom(
    '$elemMatch',
    '$allMatch',
    '$keyMapMatch',
    '$regex',
    '$exists',
    '$in',
    '$nin',
    '$all',
  );
  const { selector } = fc.letrec<{ selector: unknown }>((tie) => ({
    selector: fc.oneof(
      { depthSize: 'medium' },
      { weight: 2, arbitrary: fc.constantFrom<unknown[]>(null, true, 1, 'x', [], {}) },
      { weight: 4, arbitrary: fc.dictionary(fc.oneof(names, nesting), tie('selector'), { maxKeys: 3 }) },
      { weight: 1, arbitrary: fc.array(tie('selector'), { maxLength: 3 }) },
    ),
  }));
  let readable = 0;
  const check = (one: unknown) => {
    let parsed: ReturnType<typeof parseSelector>;
    try {
      parsed = parseSelector(one);
    } catch (error) {
      if (isDatabaseError(error)) return;
      throw error;
    }
    readable++;
    const stored = JSON.stringify(selectorJson(parsed));
    expect(JSON.stringify(normal(JSON.parse(stored)))).toBe(stored);
  };
  fc.assert(fc.property(selector, check), { numRuns: 3_000 });
  expect(readable).toBeGreaterThan(300);
});
