import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { explain, find, findIds, idsOf, index } from '../../support/conformance/find-steps.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const NO_INDEX = 'No matching index found, create an index to optimize query time.';

/** Where real clients and servers of the family expect selector queries to be so, and not otherwise. */
export default suite('corrections_find', [
  test('optional members of a query can be null, and then count as absent', async (t) => {
    await t.bulk([{ _id: 'x', n: 1 }]);
    const absent = [
      ...['bookmark', 'use_index', 'fields', 'sort', 'limit', 'skip', 'r', 'conflicts', 'update', 'stable', 'stale'],
      ...['execution_stats', 'allow_fallback', 'partition'],
    ];
    const plain = await find(t, { selector: { n: 1 } });
    for (const name of absent) {
      const answer = await find(t, { selector: { n: 1 }, [name]: null });
      assert.equal(answer.text, plain.text, name);
      assert.equal((await t.at('POST', '/_explain', { json: { selector: {}, [name]: null } })).status, 200, name);
    }
    const all = Object.fromEntries(absent.map((name) => [name, null]));
    assert.equal((await find(t, { selector: { n: 1 }, ...all })).text, plain.text);
    assert.equal((await t.at('POST', '/_find', { json: { selector: null } })).status, 400);
  }),

  test('optional members of an index can be null', async (t) => {
    const nulls = { name: null, ddoc: null, type: null };
    const filtered = { fields: ['a'], partial_filter_selector: null };
    const first = (await t.at('POST', '/_index', { json: { index: filtered, ...nulls } })).json;
    assert.equal(at(first, 'result'), 'created');
    const again = (await t.at('POST', '/_index', { json: { index: { fields: ['a'] } } })).json;
    assert.deepEqual(again, { result: 'exists', id: at(first, 'id'), name: at(first, 'name') });
  }),

  test('a sort that is not an array is refused, also an empty object', async (t) => {
    for (const sort of [{}, { n: 'asc' }, 'n', 1, true]) {
      const answer = await t.at('POST', '/_find', { json: { selector: {}, sort } });
      const reason = `Sort must be an array of sort specs, not: ${JSON.stringify(sort)}`;
      assertError(answer, 400, 'invalid_sort_json', reason);
    }
    assert.deepEqual(idsOf(await find(t, { selector: {}, sort: [] })), []);
  }),

  test('a warning is a plain sentence, and the index that would help is beside it', async (t) => {
    await t.bulk([{ _id: 'x', n: 1 }]);
    const { json } = await find(t, { selector: { n: 1 } });
    assert.equal(at(json, 'warning'), NO_INDEX);
    assert.deepEqual(at(json, 'suggested_index'), { index: { fields: ['n'] } });
    const suggested = at(json, 'suggested_index');
    const created = await t.at('POST', '/_index', { json: suggested });
    assert.equal(at(created.json, 'result'), 'created', 'what is suggested can be posted as it stands');
    assert.hasAllKeys((await find(t, { selector: { n: 1 } })).json, ['docs', 'bookmark']);
  }),

  test('_id compares in raw order, so that anything but a string is below all ids', async (t) => {
    await t.bulk([{ _id: 'B' }, { _id: 'a' }, { _id: 'z' }]);
    const all = ['B', 'a', 'z'];
    for (const argument of [-1, false, null, true, {}, { x: 1 }, [], ['z']]) {
      const name = JSON.stringify(argument);
      assert.deepEqual(await findIds(t, { _id: { $gt: argument } }), all, name);
      assert.deepEqual(await findIds(t, { _id: { $gte: argument } }), all, name);
      assert.deepEqual(await findIds(t, { _id: { $ne: argument } }), all, name);
      assert.deepEqual(await findIds(t, { _id: { $lt: argument } }), [], name);
      assert.deepEqual(await findIds(t, { _id: { $lte: argument } }), [], name);
      assert.deepEqual(await findIds(t, { _id: { $eq: argument } }), [], name);
      // Where the ids are not what decides how the documents are read.
      assert.deepEqual(await findIds(t, { $or: [{ _id: { $gt: argument } }, { no: 1 }] }), all, name);
    }
    assert.deepEqual(await findIds(t, { _id: { $gt: {}, $lt: 'b' } }), ['B', 'a']);
    assert.deepEqual(
      idsOf(await find(t, { selector: { _id: { $gt: {} } }, sort: [{ _id: 'desc' }] })),
      all.toReversed(),
    );
  }),

  test('other fields compare in the order of view keys', async (t) => {
    await t.bulk([{ _id: 'x', v: 'text' }]);
    assert.deepEqual(await findIds(t, { v: { $gt: {} } }), []);
    assert.deepEqual(await findIds(t, { v: { $lt: {} } }), ['x']);
  }),

  test('without a design document, the generated name depends on the index name as well', async (t) => {
    const create = async (members: Readonly<Record<string, unknown>>) => {
      const answer = await t.at('POST', '/_index', { json: { index: { fields: ['a'] }, ...members } });
      assert.equal(answer.status, 200, answer.text);
      return answer.json;
    };
    const [first, second] = [await create({ name: 'one' }), await create({ name: 'two' })];
    assert.deepEqual([at(first, 'name'), at(second, 'name')], ['one', 'two']);
    assert.notEqual(stringAt(first, 'id'), stringAt(second, 'id'));
    assert.notEqual(stringAt(await create({}), 'id'), stringAt(first, 'id'));
    assert.deepEqual(await create({ name: 'one' }), { result: 'exists', id: at(first, 'id'), name: 'one' });
  }),

  test("a design document of another language can't take an index", async (t) => {
    await t.put('_design/js', { language: 'javascript', views: {} });
    // Without a language it is JavaScript, also where there is nothing else in it.
    await t.put('_design/empty', {});
    for (const ddoc of ['js', 'empty', '_design/empty']) {
      const answer = await t.at('POST', '/_index', { json: { index: { fields: ['a'] }, ddoc } });
      assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'invalid_ddoc_lang'], ddoc);
    }
    assert.match(stringAt((await t.get('/_design/empty')).json, '_rev'), /^1-/);
    await t.delete('_design/empty', stringAt((await t.get('/_design/empty')).json, '_rev'));
    assert.equal((await t.at('POST', '/_index', { json: { index: { fields: ['a'] }, ddoc: 'empty' } })).status, 200);
  }),

  test('the filter of an index is stored in normal form', async (t) => {
    const stored = async (filter: Readonly<Record<string, unknown>>, name: string) => {
      await index(t, ['a'], name, { partial_filter_selector: filter });
      return at((await t.get(`/_design/${name}`)).json, 'views', name, 'map', 'partial_filter_selector');
    };
    assert.deepEqual(await stored({ type: 'x' }, 'one'), { type: { $eq: 'x' } });
    assert.deepEqual(await stored({ type: 'x', n: { $gt: 1, $lt: 3 } }, 'two'), {
      $and: [{ type: { $eq: 'x' } }, { $and: [{ n: { $gt: 1 } }, { n: { $lt: 3 } }] }],
    });
    assert.deepEqual(await stored({ type: 'x', $or: [] }, 'three'), { $and: [{ type: { $eq: 'x' } }, { $or: [] }] });
    assert.deepEqual(await stored({}, 'four'), {});
    await t.bulk([
      { _id: 'in', a: 1, type: 'x', n: 2 },
      { _id: 'out', a: 1, type: 'y', n: 2 },
    ]);
    for (const name of ['one', 'two', 'three']) {
      assert.deepEqual(await findIds(t, { a: 1 }, { use_index: name }), ['in'], name);
      assert.equal(at(await explain(t, { selector: { a: 1 }, use_index: name }), 'index', 'name'), name);
    }
    const listed = (await t.get('/_index?skip=2&limit=1')).json;
    assert.deepEqual(at(listed, 'indexes', 0, 'def', 'partial_filter_selector'), { type: { $eq: 'x' } });
  }),

  test('filters with the same meaning make the same index', async (t) => {
    const create = (filter: Readonly<Record<string, unknown>>) =>
      t.at('POST', '/_index', { json: { index: { fields: ['a'], partial_filter_selector: filter } } });
    const first = (await create({ type: 'x' })).json;
    const again = await create({ type: { $eq: 'x' } });
    assertJson(again, 200, { result: 'exists', id: at(first, 'id'), name: at(first, 'name') });
  }),

  test('a path through a value that is not an object counts as absent', async (t) => {
    await t.bulk([
      { _id: 'array', x: [{ y: 1 }] },
      { _id: 'object', x: { y: 1 } },
      { _id: 'text', x: 'y' },
    ]);
    assert.deepEqual(await findIds(t, { 'x.y': { $exists: false } }), ['array', 'text']);
    assert.deepEqual(await findIds(t, { 'x.y': { $exists: true } }), ['object']);
  }),
]);
