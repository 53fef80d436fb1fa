import { assert } from 'chai';
import { chosen, explain, find, findIds, idsOf, index } from '../../support/conformance/find-steps.ts';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const NO_INDEX = 'No matching index found, create an index to optimize query time.';
const LARGE_SCAN =
  'The number of documents examined is high in proportion to the number of results returned. ' +
  'Consider adding a more specific index to improve this.';

/** For each index its name, and why it was not taken. */
function reasons(explained: unknown): Record<string, unknown> {
  return Object.fromEntries(
    arrayAt(explained, 'index_candidates').map((candidate) => [
      `${at(candidate, 'index', 'name')}`,
      arrayAt(candidate, 'analysis', 'reasons').map((reason) => at(reason, 'name')),
    ]),
  );
}

/** Which index answers a query, what is said of it, and the order of the answer (docs/http/find.md#index-choice). */
export default suite('find_planning', [
  test('an index is used if the query has conditions on all its fields', async (t) => {
    await index(t, ['a'], 'a');
    await index(t, ['a', 'b'], 'ab');
    await index(t, ['c'], 'c');
    assert.equal(await chosen(t, { selector: { a: 1 } }), 'a');
    assert.equal(await chosen(t, { selector: { a: 1, b: 1 } }), 'ab');
    assert.equal(await chosen(t, { selector: { a: 1, b: { $gt: 1 } } }), 'ab');
    assert.equal(await chosen(t, { selector: { a: { $gt: 1 }, c: 1 } }), 'c');
    assert.equal(await chosen(t, { selector: { b: 1 } }), '_all_docs');
    assert.equal(await chosen(t, { selector: { $or: [{ a: 1 }, { b: 1 }] } }), '_all_docs');
    assert.equal(await chosen(t, { selector: { $or: [{ a: 1 }, { a: 2 }] } }), 'a');
    assert.equal(await chosen(t, { selector: { a: { $exists: false } } }), '_all_docs');
    assert.equal(await chosen(t, { selector: { a: 1, c: 1, _id: 'x' } }), '_all_docs');
    assert.equal(await chosen(t, { selector: { a: { $gt: null }, _id: { $in: ['x'] } } }), '_all_docs');
    assert.equal(await chosen(t, { selector: {} }), '_all_docs');
  }),

  test('documents that lack a field are not in its index', async (t) => {
    await t.bulk([
      { _id: 'x', a: 1, b: 1 },
      { _id: 'y', a: 1 },
    ]);
    await index(t, ['a', 'b'], 'ab');
    assert.deepEqual(await findIds(t, { a: 1 }), ['x', 'y']);
    assert.deepEqual(await findIds(t, { a: 1, b: { $exists: true } }), ['x']);
    // An order is one of documents that have its fields.
    assert.deepEqual(await findIds(t, { a: 1 }, { sort: ['a', 'b'] }), ['x']);
  }),

  test('a sort needs an index with that order, except for fields with one value', async (t) => {
    await t.bulk([
      { _id: 'x', a: 1, b: 2, c: 3 },
      { _id: 'y', a: 1, b: 1, c: 4 },
      { _id: 'z', a: 2, b: 0, c: 5 },
    ]);
    await index(t, ['a', 'b', 'c'], 'abc');
    const sorted = (selector: Readonly<Record<string, unknown>>, sort: readonly unknown[]) =>
      findIds(t, selector, { sort });
    const all = { a: { $gt: 0 }, b: { $gte: 0 }, c: { $gt: 0 } };
    assert.deepEqual(await sorted(all, ['a', 'b']), ['y', 'x', 'z']);
    assert.deepEqual(await sorted(all, [{ a: 'desc' }, { b: 'desc' }]), ['z', 'x', 'y']);
    assert.deepEqual(await sorted({ ...all, a: 1 }, ['b']), ['y', 'x']);
    assert.deepEqual(await sorted({ ...all, a: 1 }, [{ b: 'desc' }]), ['x', 'y']);
    assert.deepEqual(await sorted({ ...all, a: 1, b: 2 }, ['c']), ['x']);
    for (const sort of [['b'], ['b', 'a'], ['a', 'c'], ['a', 'b', 'c', 'd']]) {
      const answer = await t.at('POST', '/_find', { json: { selector: all, sort } });
      assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'no_usable_index'], `${sort}`);
    }
  }),

  test("use_index is obeyed, or the answer says that the index can't be used", async (t) => {
    await t.bulk([{ _id: 'x', a: 1, b: 1 }]);
    await index(t, ['a'], 'a');
    await index(t, ['a', 'b'], 'ab');
    const selector = { a: 1, b: 1 };
    assert.equal(await chosen(t, { selector }), 'ab');
    for (const name of ['a', '_design/a', 'a/a', '_design/a/a', ['a'], ['_design/a', 'a']]) {
      assert.equal(await chosen(t, { selector, use_index: name }), 'a', `${name}`);
      assert.isUndefined(at((await find(t, { selector, use_index: name })).json, 'warning'));
    }
    const warned = async (name: unknown) =>
      at((await find(t, { selector: { a: 1 }, use_index: name })).json, 'warning');
    assert.equal(
      await warned('ab'),
      '_design/ab was not used because it does not contain a valid index for this query.',
    );
    assert.equal(
      await warned(['ab', 'no']),
      '_design/ab, no was not used because it is not a valid index for this query.',
    );
    const strict = { selector: { a: 1 }, use_index: 'ab', allow_fallback: false };
    const answer = await t.at('POST', '/_find', { json: strict });
    assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'no_usable_index']);
  }),

  test('a partial index has the documents that pass its filter, and is used by name only', async (t) => {
    await t.bulk([
      { _id: 'x', a: 1, open: true },
      { _id: 'y', a: 1, open: false },
      { _id: 'z', a: 2 },
    ]);
    await index(t, ['a'], 'open', { partial_filter_selector: { open: { $ne: false } } });
    assert.deepEqual(await findIds(t, { a: 1 }), ['x', 'y']);
    assert.deepEqual(await findIds(t, { a: { $gt: 0 } }, { use_index: 'open' }), ['x']);
    assert.deepEqual(reasons(await explain(t, { selector: { a: 1 } })), { _all_docs: [], open: ['is_partial'] });
  }),

  test('a warning names the index that would help', async (t) => {
    await t.bulk(Array.from({ length: 30 }, (_, n) => ({ _id: `${n}`, a: 1, b: n, c: n })));
    const warned = async (selector: Readonly<Record<string, unknown>>) => {
      const { json } = await find(t, { selector });
      return [at(json, 'warning'), at(json, 'suggested_index')];
    };
    const nothing = [undefined, undefined];
    assert.deepEqual(await warned({ b: { $gt: 3 }, a: 1 }), [NO_INDEX, { index: { fields: ['a', 'b'] } }]);
    assert.deepEqual(await warned({}), [NO_INDEX, undefined]);
    assert.deepEqual(await warned({ d: { $exists: true } }), [NO_INDEX, { index: { fields: ['d'] } }]);
    assert.deepEqual(await warned({ _id: { $gt: '5' } }), nothing);
    await index(t, ['a'], 'a');
    assert.deepEqual(await warned({ a: 1 }), nothing);
    assert.deepEqual(await warned({ a: 1, b: 7 }), [LARGE_SCAN, { index: { fields: ['a', 'b'] } }]);
    assert.deepEqual(await warned({ a: 1, b: { $mod: [29, 1] } }), [LARGE_SCAN, undefined]);
  }),

  test('_explain shows the plan', async (t) => {
    await index(t, ['a', 'b'], 'ab');
    const body = {
      selector: { a: { x: 1 }, b: { $gt: 2, $lte: 5 } },
      fields: ['_id', 'c'],
      limit: 7,
      skip: 2,
    };
    const explained = await explain(t, { ...body, selector: { ...body.selector, a: 'v' } });
    assert.equal(at(explained, 'dbname'), t.db);
    assert.deepEqual(at(explained, 'index'), {
      ddoc: '_design/ab',
      name: 'ab',
      type: 'json',
      partitioned: false,
      def: { fields: [{ a: 'asc' }, { b: 'asc' }] },
    });
    assert.deepEqual(at(explained, 'selector'), {
      $and: [{ a: { $eq: 'v' } }, { $and: [{ b: { $gt: 2 } }, { b: { $lte: 5 } }] }],
    });
    assert.deepEqual(at(explained, 'fields'), ['_id', 'c']);
    assert.deepEqual([at(explained, 'limit'), at(explained, 'skip')], [7, 2]);
    assert.equal(at(explained, 'mrargs', 'direction'), 'fwd');
    assert.deepEqual(arrayAt(explained, 'mrargs', 'start_key').slice(0, 2), ['v', 2]);
    assert.deepEqual(arrayAt(explained, 'mrargs', 'end_key').slice(0, 2), ['v', 5]);
    assert.isFalse(at(explained, 'covering'));
    assert.isTrue(at(await explain(t, { selector: { a: 1, b: 2 }, fields: ['b', '_id'] }), 'covering'));
    const nested = await explain(t, { selector: { $not: { a: { $size: 1 } }, 'b.c': { $elemMatch: { d: 1 } } } });
    assert.deepEqual(at(nested, 'selector'), {
      $and: [{ a: { $not: { $size: 1 } } }, { 'b.c': { $elemMatch: { d: { $eq: 1 } } } }],
    });
    assert.deepEqual(at(await explain(t, { selector: {} }), 'selector'), {});
    assert.equal(at(await explain(t, { selector: {} }), 'fields'), 'all_fields');
  }),

  test('_explain says why each index was used or not', async (t) => {
    await index(t, ['a'], 'a');
    await index(t, ['a'], 'also');
    await index(t, ['a', 'b'], 'ab');
    await index(t, ['c'], 'c');
    await index(t, ['b', 'a'], 'ba');
    const selector = { a: 1, b: { $gt: null } };
    assert.deepEqual(reasons(await explain(t, { selector })), {
      a: [],
      also: ['alphabetically_comes_after'],
      ab: ['too_many_fields'],
      ba: ['less_overlap'],
      c: ['field_mismatch'],
      _all_docs: ['less_overlap'],
    });
    assert.deepEqual(reasons(await explain(t, { selector: {} })), {
      _all_docs: [],
      a: ['empty_selector'],
      also: ['empty_selector'],
      ab: ['empty_selector'],
      ba: ['empty_selector'],
      c: ['empty_selector'],
    });
    const sorted = reasons(await explain(t, { selector, sort: ['b'] }));
    assert.deepEqual(sorted['ab'], []);
    assert.deepEqual(sorted['c'], ['field_mismatch', 'sort_order_mismatch']);
    assert.deepEqual(sorted['_all_docs'], ['sort_order_mismatch']);
    const named = reasons(await explain(t, { selector, use_index: 'ba' }));
    assert.deepEqual([named['ba'], named['ab']], [[], ['excluded_by_user']]);
    const first = arrayAt(await explain(t, { selector }), 'index_candidates')[0];
    assert.deepInclude(at(first, 'analysis'), { usable: true, chosen: true, ranking: 0 });
  }),

  test("a range that can't contain anything isn't read", async (t) => {
    await t.bulk([{ _id: 'x', a: 1 }]);
    await index(t, ['a'], 'a');
    for (const selector of [{ a: { $gt: 2, $lt: 1 } }, { a: 1, $and: [{ a: 2 }] }, { _id: 5 }, { _id: { $lt: [] } }]) {
      const answer = await find(t, { selector, execution_stats: true });
      assert.deepEqual(idsOf(answer), []);
      assert.equal(at(answer.json, 'execution_stats', 'total_keys_examined'), 0, JSON.stringify(selector));
    }
    assert.deepEqual(await findIds(t, { _id: { $gt: null, $ne: [] } }), ['x']);
  }),
]);
