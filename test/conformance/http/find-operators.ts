import { assert } from 'chai';
import { findIds } from '../../support/conformance/find-steps.ts';
import { suite, test } from '../../support/conformance/suite.ts';

type Json = Readonly<Record<string, unknown>>;

/** One of each type, in the order of view keys, and one without the field. */
const typed: readonly Json[] = [
  { _id: '0' },
  { _id: '1', v: null },
  { _id: '2', v: false },
  { _id: '3', v: true },
  { _id: '4', v: -1 },
  { _id: '5', v: 2 },
  { _id: '6', v: 'a' },
  { _id: '7', v: 'B' },
  { _id: '8', v: [] },
  { _id: '9', v: [2, 'x'] },
  { _id: 'a', v: {} },
  { _id: 'b', v: { x: 2 } },
];

const ordered: readonly [condition: unknown, ids: string][] = [
  [{ $eq: 2 }, '5'],
  [2, '5'],
  [null, '1'],
  [[2, 'x'], '9'],
  [{ x: 2 }, 'b'],
  [{ $eq: { x: 2 } }, 'b'],
  [{}, 'a'],
  [{ $ne: 2 }, '12346789ab'],
  [{ $gt: null }, '23456789ab'],
  [{ $gte: null }, '123456789ab'],
  [{ $lt: 2 }, '1234'],
  [{ $lte: 2 }, '12345'],
  [{ $gt: 'a' }, '789ab'],
  [{ $gte: 'a', $lt: [] }, '67'],
  [{ $gt: [2] }, '9ab'],
  [{ $gt: true, $lt: false }, ''],
  [{ $in: [2, 'a', null] }, '1569'],
  [{ $in: [] }, ''],
  [{ $nin: [2, 'a', null] }, '23478ab'],
  [{ $nin: [] }, '123456789ab'],
  [{ $exists: true }, '123456789ab'],
  [{ $exists: false }, '0'],
  [{ $not: { $exists: false } }, '123456789ab'],
  [{ $type: 'null' }, '1'],
  [{ $type: 'boolean' }, '23'],
  [{ $type: 'number' }, '45'],
  [{ $type: 'string' }, '67'],
  [{ $type: 'array' }, '89'],
  [{ $type: 'object' }, 'ab'],
  [{ $type: 'nothing' }, ''],
  [{ $size: 0 }, '8'],
  [{ $size: 2 }, '9'],
  [{ $mod: [2, 0] }, '5'],
  [{ $mod: [2, -1] }, '4'],
  [{ $beginsWith: '' }, '67'],
  [{ $beginsWith: 'a' }, '6'],
  [{ $regex: '^[A-Z]$' }, '7'],
  [{ $not: { $gt: 2 } }, '12345'],
  [{ $not: { $type: 'number' } }, '12367' + '89ab'],
  [{ $not: { $not: { $gt: null } } }, '23456789ab'],
  [{ $all: [2] }, '9'],
  [{ $all: ['x', 2] }, '9'],
  [{ $all: [2, 3] }, ''],
  [{ $all: [] }, ''],
  [{ $all: [[2, 'x']] }, '9'],
  [{ $elemMatch: { $eq: 2 } }, '9'],
  [{ $elemMatch: { $gt: 2 } }, '9'],
  [{ $elemMatch: { $type: 'null' } }, ''],
  [{ $allMatch: { $gte: 2 } }, '9'],
  [{ $allMatch: { $type: 'number' } }, ''],
  [{ $keyMapMatch: { $eq: 'x' } }, 'b'],
  [{ $keyMapMatch: { $regex: 'y' } }, ''],
  [{ $or: [{ $lt: 2 }, { $gt: 'B' }] }, '123489ab'],
];

const joined: readonly [selector: Json, ids: string][] = [
  [{ $and: [{ v: { $gt: 1 } }, { v: { $lt: 'B' } }] }, '56'],
  [{ $or: [{ v: 2 }, { v: null }] }, '15'],
  [{ $nor: [{ v: 2 }, { v: null }] }, '2346789ab'],
  [{ $not: { v: 2 } }, '12346789ab'],
  [{ $not: { $or: [{ v: { $lt: 'a' } }, { v: { $gt: 'a' } }] } }, '6'],
  [{ $not: { $and: [{ v: { $gte: 'a' } }, { v: { $lte: 'a' } }] } }, '1234578' + '9ab'],
  [{ $and: [] }, '0123456789ab'],
  [{ $or: [] }, '0123456789ab'],
  [{ v: 2, $or: [] }, '5'],
  [{ $or: [], v: { $in: [] } }, ''],
  [{ _id: { $gt: '3' }, v: { $lt: 'a' } }, '45'],
  [{ _id: { $in: ['7', 'b', '0', '7'] } }, '07b'],
  [{ _id: { $regex: '[ab]' } }, 'ab'],
  [{ 'v.x': 2 }, 'b'],
  [{ 'v.x': { $exists: false } }, '0123456789a'],
  [{ 'v.1': 'x' }, '9'],
];

/** The operators of selectors (docs/http/find.md#operators): what they mean for every type of value, with an index and without. */
export default suite('find_operators', [
  test('operators compare the value of a field', async (t) => {
    await t.bulk(typed);
    for (const [condition, ids] of ordered) {
      assert.equal((await findIds(t, { v: condition })).join(''), ids, JSON.stringify(condition));
    }
    await t.at('POST', '/_index', { json: { index: { fields: ['v'] } } });
    for (const [condition, ids] of ordered) {
      const found = await findIds(t, { v: condition });
      assert.equal(found.toSorted().join(''), ids, `with an index: ${JSON.stringify(condition)}`);
    }
  }),

  test('logical operators combine conditions', async (t) => {
    await t.bulk(typed);
    for (const [selector, ids] of joined) {
      assert.equal((await findIds(t, selector)).join(''), ids, JSON.stringify(selector));
    }
  }),

  test('$elemMatch and $allMatch match elements that are objects', async (t) => {
    await t.bulk([
      {
        _id: 'a',
        cast: [
          { name: 'Ada', age: 36 },
          { name: 'Bob', age: 20 },
        ],
      },
      { _id: 'b', cast: [{ name: 'Ada', age: 20 }] },
      { _id: 'c', cast: { first: { age: 36 } } },
    ]);
    assert.deepEqual(await findIds(t, { cast: { $elemMatch: { name: 'Ada', age: { $gt: 30 } } } }), ['a']);
    assert.deepEqual(await findIds(t, { cast: { $elemMatch: { $or: [{ age: 36 }, { name: 'Eve' }] } } }), ['a']);
    assert.deepEqual(await findIds(t, { cast: { $allMatch: { age: { $lt: 30 } } } }), ['b']);
    assert.deepEqual(await findIds(t, { cast: { $not: { $elemMatch: { age: 36 } } } }), ['b', 'c']);
    assert.deepEqual(await findIds(t, { 'cast.first': { age: 36 } }), ['c']);
  }),

  test('strings compare like view keys, and ids by code point', async (t) => {
    await t.bulk(['a', 'B', 'ä', 'Z', 'z'].map((v) => ({ _id: v, v })));
    assert.deepEqual(await findIds(t, { v: { $gte: 'a', $lt: 'z' } }), ['B', 'a', 'ä']);
    assert.deepEqual(await findIds(t, { _id: { $gte: 'a', $lt: 'z' } }), ['a']);
    assert.deepEqual(await findIds(t, { v: 'A' }), []);
    // The same letter in two forms is one key.
    assert.deepEqual(await findIds(t, { v: 'a\u0308' }), ['ä']);
    assert.deepEqual(await findIds(t, { _id: 'a\u0308' }), []);
    await t.at('POST', '/_index', { json: { index: { fields: ['v'] } } });
    assert.deepEqual(await findIds(t, { v: { $gte: 'a', $lte: 'z' } }), ['a', 'ä', 'B', 'z']);
    assert.deepEqual(await findIds(t, { v: 'a\u0308' }), ['ä']);
  }),

  test('$beginsWith compares characters, whatever the collation', async (t) => {
    const words = ['ab', 'abc', 'aB', 'b', 'é', 'e\u0301f', 'eg', 'เก', 'เ', 'ก'];
    await t.bulk(words.map((v, at) => ({ _id: `${at}`, v })));
    const expected: readonly [string, string][] = [
      ['ab', '01'],
      ['a', '012'],
      ['e', '56'],
      ['é', '4'],
      ['เ', '78'],
      ['', '0123456789'],
    ];
    for (const [prefix, ids] of expected) {
      assert.equal((await findIds(t, { v: { $beginsWith: prefix } })).join(''), ids, prefix);
    }
    await t.at('POST', '/_index', { json: { index: { fields: ['v'] } } });
    for (const [prefix, ids] of expected) {
      assert.equal((await findIds(t, { v: { $beginsWith: prefix } })).toSorted().join(''), ids, prefix);
    }
  }),

  test('names of built-in properties are absent unless the document has them', async (t) => {
    await t.at('POST', '/_bulk_docs', {
      body: '{"docs":[{"_id":"a"},{"_id":"b","constructor":1,"in":{"__proto__":{"x":1}}}]}',
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual(await findIds(t, { constructor: { $exists: true } }), ['b']);
    assert.deepEqual(await findIds(t, { 'in.__proto__.x': 1 }), ['b']);
    assert.deepEqual(await findIds(t, { 'toString.length': { $exists: true } }), []);
  }),
]);
