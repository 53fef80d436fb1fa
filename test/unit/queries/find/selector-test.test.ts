import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CompareKeys, createKeyOrder } from '../../../../src/base/collation/key-order.ts';
import { isObject } from '../../../../src/base/json/objects.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { Effort } from '../../../../src/queries/find/effort.ts';
import { fieldOf } from '../../../../src/queries/find/selectors/field-path.ts';
import type { Condition, Selector } from '../../../../src/queries/find/selectors/selector.ts';
import { createCheck, createTest } from '../../../../src/queries/find/selectors/selector-check.ts';
import { parseSelector } from '../../../../src/queries/find/selectors/selector-parser.ts';
import { roundsOf } from '../../../support/long-runs.ts';

const order = createKeyOrder('unicode');
const idOrder = createKeyOrder('raw');

/** What a selector means, word by word (docs/http/find.md#operators): each value is compared with each. */
function fulfils(selector: Selector, value: unknown): boolean {
  if (selector.kind === 'field') {
    const field = fieldOf(value, selector.path);
    const { condition } = selector;
    if (condition.operator === '$exists') return (field !== undefined) === condition.argument;
    const compare = selector.path.text === '_id' ? idOrder : order;
    return field !== undefined && holds(condition, field, compare) !== condition.isNegated;
  }
  if (selector.parts.length === 0) return true;
  return selector.kind === 'and'
    ? selector.parts.every((part) => fulfils(part, value))
    : selector.parts.some((part) => fulfils(part, value));
}

function holds({ operator, argument, nested }: Condition, value: unknown, compare: CompareKeys): boolean {
  const isSame = (one: unknown, other: unknown) => compare(one, other) === 0;
  const listed: readonly unknown[] = Array.isArray(argument) ? argument : [];
  const isListed = (one: unknown) => listed.some((other) => isSame(one, other));
  const elements: readonly unknown[] = Array.isArray(value) ? value : [];
  const passes = (one: unknown) => nested !== undefined && fulfils(nested, one);
  switch (operator) {
    case '$eq':
      return isSame(value, argument);
    case '$ne':
      return !isSame(value, argument);
    case '$lt':
      return compare(value, argument) < 0;
    case '$gte':
      return compare(value, argument) >= 0;
    case '$in':
      return Array.isArray(value) ? elements.some(isListed) : isListed(value);
    case '$nin':
      return !(Array.isArray(value) ? elements.some(isListed) : isListed(value));
    case '$all':
      if (!Array.isArray(value) || listed.length === 0) return false;
      if (listed.every((one) => elements.some((element) => isSame(element, one)))) return true;
      return listed.length === 1 && Array.isArray(listed[0]) && isSame(value, listed[0]);
    case '$elemMatch':
      return elements.some(passes);
    case '$allMatch':
      return elements.length > 0 && elements.every(passes);
    case '$keyMapMatch':
      return isObject(value) && Object.keys(value).some(passes);
    default:
      throw new Error(`the model does not know ${operator}`);
  }
}

// Some of them are equal, and written differently.
const string = fc.constantFrom(
  '',
  'a',
  'b',
  'A',
  'ä',
  'a\u0308',
  'a\u0000',
  '\u0000',
  'é',
  'e\u0301',
  'E',
  'ab',
  '한',
  '\u1112\u1161\u11ab',
);
const scalar = fc.oneof(
  string,
  fc.constantFrom<unknown>(null, true, false, 0, -0, 1, 2, Number.POSITIVE_INFINITY, 0.5),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 5, arbitrary: scalar },
    { weight: 2, arbitrary: fc.array(tie('value'), { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom('a', 'b', 'ä', 'a\u0308'), tie('value'), { maxKeys: 3 }) },
  ),
}));
const list = fc.oneof(fc.array(value, { maxLength: 6 }), fc.array(value, { minLength: 60, maxLength: 80 }));
const { condition } = fc.letrec<{ condition: Record<string, unknown> }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small' },
    {
      weight: 3,
      arbitrary: fc.tuple(fc.constantFrom('$in', '$nin', '$all'), list).map(([name, given]) => ({ [name]: given })),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('$eq', '$ne', '$lt', '$gte'), value)
        .map(([name, given]) => ({ [name]: given })),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('$elemMatch', '$allMatch', '$keyMapMatch', '$not'), tie('condition'))
        .map(([name, given]) => ({ [name]: given })),
    },
  ),
}));
const equalities = fc.tuple(
  fc.constantFrom('$or', '$nor', '$and'),
  fc.array(value, { maxLength: 20 }),
  fc.constantFrom('$eq', '$ne'),
);
const field = fc.constantFrom('f', 'g', '_id');
const selector = fc.oneof(
  fc.tuple(field, condition).map(([name, one]) => ({ [name]: one })),
  fc.tuple(field, equalities).map(([name, [joined, values, operator]]) => ({
    [joined]: values.map((one) => ({ [name]: { [operator]: one } })),
  })),
  fc.tuple(field, condition, condition).map(([name, one, other]) => ({ $or: [{ [name]: one }, { f: other }] })),
);
const documents = fc.array(fc.record({ _id: string, f: value, g: value }, { requiredKeys: [] }), {
  minLength: 4,
  maxLength: 4,
});

describe('a test of a selector', () => {
  test("has the result of the selector's definition, at once and in steps", () => {
    fc.assert(
      fc.property(selector, documents, (given, tested) => {
        const parsed = parseSelector(given);
        const check = createCheck(parsed, order);
        for (const document of tested) {
          const meant = fulfils(parsed, document);
          expect(new Effort(undefined).attempt(createCheck(parsed, order), document) ?? meant, 'at once').toBe(meant);
          expect(atOnce(createCheck(parsed, order).inSteps(document, new Effort(undefined))), 'in steps').toBe(meant);
          // Steps have prepared the lists.
          expect(atOnce(check.inSteps(document, new Effort(undefined)))).toBe(meant);
          expect(new Effort(undefined).attempt(check, document), 'at once again').toBe(meant);
        }
      }),
      { numRuns: roundsOf(1_200, 3_000) },
    );
  });

  const numbers = Array.from({ length: 50_000 }, (_, n) => n);

  test.each<[what: string, selector: unknown, document: unknown, passes: boolean]>([
    ['a list and an array', { a: { $elemMatch: { $in: numbers } } }, { a: numbers.map((n) => -1 - n) }, false],
    ['a list and an array, found', { a: { $in: numbers } }, { a: [...numbers.map((n) => -1 - n), 7] }, true],
    ['none of a list', { a: { $nin: numbers } }, { a: numbers.map((n) => -1 - n) }, true],
    ['all of a list', { a: { $all: numbers } }, { a: numbers.toReversed() }, true],
    ['all of a list but one', { a: { $all: numbers } }, { a: numbers.slice(1) }, false],
    [
      'strings of all scripts',
      { a: { $in: numbers.map((n) => `日${n}`) } },
      { a: numbers.map((n) => `本${n}`) },
      false,
    ],
    ['alternatives', { $or: numbers.slice(0, 10_000).map((n) => ({ a: n })) }, { a: 9_999 }, true],
    ['one value in another', { a: { $eq: numbers } }, { a: [...numbers] }, true],
    [
      'objects of one list in another',
      { a: { $in: numbers.map((n) => ({ n })) } },
      { a: numbers.map((n) => ({ n: -1 - n })) },
      false,
    ],
  ])('takes steps in proportion to lists and arrays: %s', async (_what, given, document, passes) => {
    const answer = createTest(parseSelector(given), order)(document);
    expect(await answer).toBe(passes);
  });

  test('gives up on a document that would take seconds, with a remedy', async () => {
    const [most, text] = [numbers.slice(0, 3_000), 'a'.repeat(300_000)];
    for (const [given, document] of [
      [{ $or: most.map((n) => ({ a: { $elemMatch: { $eq: -1 - n } } })) }, { a: numbers }],
      [{ $or: most.slice(0, 200).map((n) => ({ t: { $regex: `(a+)+c${n}` } })) }, { t: text }],
      [{ a: { $elemMatch: { $or: most.map((n) => ({ $elemMatch: { $eq: n } })) } } }, { a: numbers.map(() => [-1]) }],
      [{ a: { $elemMatch: { $gt: [...numbers, 1] } } }, { a: numbers.map(() => numbers) }],
    ]) {
      const answer = createTest(parseSelector(given), order)(document);
      expect(answer).toBeInstanceOf(Promise);
      await expect(answer).rejects.toMatchObject({
        name: 'CustomCodeError',
        reason: expect.stringMatching(/20000000 steps.*shorter lists/),
      });
    }
  });
});

describe('a selector that is too large', () => {
  const many = (count: number, make: (n: number) => unknown) => Array.from({ length: count }, (_, n) => make(n));

  test.each<[what: string, selector: unknown, reason: RegExp]>([
    ['conditions', { $or: many(10_001, (n) => ({ a: { $gt: n } })) }, /10000 conditions at most.*\$in/],
    ['values', { $or: many(2, () => ({ a: { $in: many(250_001, (n) => n) } })) }, /500000 values at most/],
    [
      'patterns',
      { $or: many(11, (n) => ({ a: { $regex: `${n}`.repeat(10_000).slice(0, 10_000) } })) },
      /100000 characters at most/,
    ],
    ['repetitions', { $or: many(20, (n) => ({ a: { $regex: `^a{1500}${n}` } })) }, /too long/],
    ['sets', { a: { $regex: `[${'a-b'.repeat(1_000)}]{1000}` } }, /too long/],
    ['properties', { a: { $regex: many(60, (n) => `\\p{Script=${SCRIPTS[n]}}`).join('') } }, /50 different properties/],
  ])('is refused: %s', (_what, given, reason) => {
    expect(() => parseSelector(given)).toThrow(reason);
  });
});

const SCRIPTS =
  'Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Carian Chakma Cham Cherokee Coptic Cuneiform Cypriot Cyrillic Deseret Devanagari Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana Javanese Kaithi Kannada Katakana Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Lisu Lycian Lydian Mahajani Makasar'.split(
    ' ',
  );
