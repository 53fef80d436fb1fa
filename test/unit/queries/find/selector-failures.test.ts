import { expect, test } from 'vitest';
import { createKeyOrder } from '../../../../src/base/collation/key-order.ts';
import { atOnce } from '../../../../src/base/shared/turn.ts';
import { createTest } from '../../../../src/queries/find/selectors/selector-check.ts';
import { failuresOf } from '../../../../src/queries/find/selectors/selector-failures.ts';
import { parseSelector } from '../../../../src/queries/find/selectors/selector-parser.ts';

const order = createKeyOrder('unicode');

function shownFailures(selector: unknown, value: unknown): string[] {
  const parsed = parseSelector(selector);
  const failures = atOnce(failuresOf(parsed, value, order));
  // What fails has a reason, and only that.
  expect(failures.length === 0).toBe(createTest(parsed, order)(value));
  return failures.map(({ path, message }) => `${path.join('/')}: ${message}`);
}

const value = { n: 5, s: 'text', list: [1, 'a', { x: 1 }], o: { in: { n: null } } };

test.each<[unknown, string[]]>([
  [{}, []],
  [{ n: 5, s: 'text' }, []],
  [{ n: 6 }, ['n: must be equal to 6']],
  [{ n: { $ne: 5 } }, ['n: must be different from 5']],
  [{ n: { $not: { $gt: 1 } } }, ['n: must be less than or equal to 1']],
  [{ n: { $lt: 5, $gt: 5 } }, ['n: must be less than 5', 'n: must be greater than 5']],
  [{ n: { $mod: [2, 0] } }, ['n: must be an integer with the divisor and remainder [2,0]']],
  [{ s: { $type: 'number' } }, ['s: must be of the type "number"']],
  [{ s: { $not: { $type: 'string' } } }, ['s: must not be of the type "string"']],
  [{ s: { $regex: '^a' } }, ['s: must be a string that matches "^a"']],
  [{ s: { $not: { $regex: '^t' } } }, ['s: must not be a string that matches "^t"']],
  [{ s: { $beginsWith: 'a' } }, ['s: must be a string that begins with "a"']],
  [{ s: { $in: [1, 2] } }, ['s: must be one of [1,2]']],
  [{ absent: 1 }, ['absent: must be present']],
  [{ 'o.in.absent': { $not: { $eq: 1 } } }, ['o/in/absent: must be present']],
  [{ absent: { $exists: true }, n: { $exists: false } }, ['absent: must be present', 'n: must not be present']],
  [{ o: { in: { n: { $type: 'object' } } } }, ['o/in/n: must be of the type "object"']],
  [{ list: { $size: 2 } }, ['list: must be an array of the length 2']],
  [{ list: { $all: [1, 2] } }, ['list: must be an array with all of [1,2]']],
  [{ list: { $elemMatch: { $gt: 9 } } }, []],
  [{ list: { $elemMatch: { y: 1 } } }, ['list: must be an array with an element that fulfils {"y":1}']],
  [
    { list: { $allMatch: { $type: 'number' } } },
    ['list/1: must be of the type "number"', 'list/2: must be of the type "number"'],
  ],
  [
    { list: { $allMatch: { x: 2 } } },
    ['list/0/x: must be present', 'list/1/x: must be present', 'list/2/x: must be equal to 2'],
  ],
  [
    { list: { $not: { $allMatch: { $exists: true } } } },
    ['list: must not be an array that is not empty, in which each element fulfils {"$exists":true}'],
  ],
  [
    { n: { $allMatch: { $gt: 0 } } },
    ['n: must be an array that is not empty, in which each element fulfils {"$gt":0}'],
  ],
  [{ o: { $keyMapMatch: { $eq: 'x' } } }, ['o: must be an object with a name that fulfils {"$eq":"x"}']],
  [{ $or: [{ n: 1 }, { s: 'x', n: 5 }] }, ['n: must be equal to 1', 's: must be equal to "x"']],
  [{ $or: [{ n: 1 }, { n: 5 }], s: 'x' }, ['s: must be equal to "x"']],
  [{ $nor: [{ n: 5 }, { s: 'x' }] }, ['n: must be different from 5']],
])('a failed match is explained: %j', (selector, expected) => expect(shownFailures(selector, value)).toEqual(expected));

test('at most a hundred failures are listed, with shortened values', () => {
  const list = Array.from({ length: 5000 }, (_, n) => n);
  expect(shownFailures({ list: { $allMatch: { $lt: 0 } } }, { list })).toHaveLength(100);
  const [long = ''] = shownFailures({ n: 'x'.repeat(10_000) }, value);
  expect(long.length).toBeLessThan(300);
});
