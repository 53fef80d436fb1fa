import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { chosen, findIds, index } from '../../support/conformance/find-steps.ts';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const TOO_DEEP = 'The JSON has arrays and objects in more than 1000 levels; send what is nested deeper as a string.';

const ALL_DOCS = { ddoc: null, name: '_all_docs', type: 'special', def: { fields: [{ _id: 'asc' }] } };

const wrong: readonly [what: unknown, error: string][] = [
  [{}, 'missing_required_key'],
  [{ index: {} }, 'missing_required_key'],
  [{ index: [] }, 'invalid_index'],
  [{ index: { fields: [] } }, 'invalid_index'],
  [{ index: { fields: null } }, 'invalid_sort_json'],
  [{ index: { fields: true } }, 'invalid_sort_json'],
  [{ index: { fields: 'bing' } }, 'invalid_sort_json'],
  [{ index: { fields: [{ foo: 2 }] } }, 'invalid_sort_dir'],
  [{ index: { fields: [{ foo: 'asc', bar: 'desc' }] } }, 'invalid_sort_field'],
  [{ index: { fields: [{ foo: 'asc' }, { bar: 'desc' }] } }, 'unsupported_mixed_sort'],
  [{ index: { fields: [''] } }, 'invalid_field_name'],
  [{ index: { fields: ['a'], partial_filter_selector: { a: { $foo: 1 } } } }, 'invalid_operator'],
  [{ index: { fields: ['a'], filter: {} } }, 'invalid_key'],
  [{ index: { fields: ['a'] }, type: 'nothing' }, 'invalid_index'],
  [{ index: { fields: ['a'] }, name: 1 }, 'invalid_index_name'],
  [{ index: { fields: ['a'] }, ddoc: '' }, 'invalid_index_name'],
  [{ index: { fields: ['a'] }, unknown: 1 }, 'invalid_key'],
];

/** Indexes for selectors: created, listed, removed, and kept as design documents (docs/http/find.md#indexes-of-selectors). */
export default suite('find_indexes', [
  test('an index is created once, and then exists', async (t) => {
    const json = { index: { fields: ['a', { b: 'asc' }] }, name: 'by-a', ddoc: 'mine', type: 'json' };
    const answer = await t.at('POST', '/_index', { json });
    assertJson(answer, 200, { result: 'created', id: '_design/mine', name: 'by-a' });
    const again = await t.at('POST', '/_index', { json });
    assertJson(again, 200, { result: 'exists', id: '_design/mine', name: 'by-a' });
    const other = await t.at('POST', '/_index', { json: { ...json, ddoc: '_design/mine', name: 'other' } });
    assertJson(other, 200, { result: 'created', id: '_design/mine', name: 'other' });
    const changed = await t.at('POST', '/_index', { json: { ...json, index: { fields: ['c'] } } });
    assert.equal(at(changed.json, 'result'), 'created');
  }),

  test('indexed values can have a thousand levels, and deeper ones are refused before they are stored', async (t) => {
    const body = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    assertError(await t.at('PUT', '/deep', { body }), 400, 'bad_request', TOO_DEEP);
    await t.put('plain', { a: [1] });
    await t.put('thousandfold', { a: JSON.parse(`${'['.repeat(999)}${']'.repeat(999)}`) });
    await index(t, ['a'], 'by-a');
    assert.deepEqual(await findIds(t, { a: { $gt: null } }), ['plain', 'thousandfold']);
  }),

  test("a definition that is nested too deeply isn't stored by replication either", async (t) => {
    const filter = `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const map = `{"fields":{"a":"asc"},"partial_filter_selector":${filter}}`;
    const body = `{"language":"query","views":{"v":{"map":${map},"reduce":"_count","options":{"def":{"fields":["a"]}}}}}`;
    assertError(await t.at('PUT', '/_design/deep?new_edits=false', { body }), 400, 'bad_request', TOO_DEEP);
    await index(t, ['b'], 'by-b');
    const listed = arrayAt((await t.at('GET', '/_index')).json, 'indexes').map((one) => at(one, 'name'));
    assert.deepEqual(listed, ['_all_docs', 'by-b']);
    assert.equal(await chosen(t, { selector: { b: 1 } }), 'by-b');
  }),

  test('missing names are generated from the definition', async (t) => {
    const create = async (fields: readonly string[]) => {
      const answer = await t.at('POST', '/_index', { json: { index: { fields } } });
      assert.equal(answer.status, 200, answer.text);
      return answer.json;
    };
    const first = await create(['a']);
    assert.equal(at(first, 'result'), 'created');
    assert.equal(`_design/${stringAt(first, 'name')}`, at(first, 'id'));
    assert.deepEqual(await create(['a']), { result: 'exists', id: at(first, 'id'), name: at(first, 'name') });
    assert.notEqual(at(await create(['b']), 'id'), at(first, 'id'));
  }),

  test('indexes are stored as design documents of the language query', async (t) => {
    const definition = { fields: ['a', 'b.c'], partial_filter_selector: { d: { $gt: 1 } } };
    await t.at('POST', '/_index', { json: { index: definition, name: 'x', ddoc: 'x' } });
    const stored = (await t.get('/_design/x')).json;
    assert.equal(at(stored, 'language'), 'query');
    assert.deepEqual(at(stored, 'views'), {
      x: {
        map: { fields: { a: 'asc', 'b.c': 'asc' }, partial_filter_selector: { d: { $gt: 1 } } },
        reduce: '_count',
        options: { def: definition },
      },
    });
    await index(t, ['a'], 'y');
    assert.deepEqual(at((await t.get('/_design/y')).json, 'views', 'y', 'map'), {
      fields: { a: 'asc' },
      partial_filter_selector: {},
    });
  }),

  test('design documents from a replication are indexes as well', async (t) => {
    const map = { fields: { n: 'desc' }, partial_filter_selector: {} };
    const views = { v: { map, reduce: '_count', options: { def: { fields: [{ n: 'desc' }] } } } };
    await t.replicate([{ _id: '_design/far', _rev: `1-${'a'.repeat(32)}`, language: 'query', views }]);
    await t.bulk([{ _id: 'x', n: 1 }, { _id: 'y', n: 2 }, { _id: 'z' }]);
    assert.deepEqual(await findIds(t, { n: { $gt: 0 } }, { sort: [{ n: 'desc' }] }), ['y', 'x']);
    const view = await t.get('/_design/far/_view/v?reduce=false');
    assertJson(view, 200, {
      total_rows: 2,
      offset: 0,
      rows: [
        { id: 'x', key: [1], value: null },
        { id: 'y', key: [2], value: null },
      ],
    });
    assertJson(await t.get('/_design/far/_view/v'), 200, { rows: [{ key: null, value: 2 }] });
  }),

  test('indexes are listed after the index of all documents', async (t) => {
    assertJson(await t.get('/_index'), 200, { total_rows: 1, indexes: [ALL_DOCS] });
    await index(t, ['a', { b: 'asc' }], 'ab');
    await index(t, [{ c: 'desc' }], 'c', { partial_filter_selector: { d: 1 } });
    await t.put('_design/other', { views: { v: { map: 'function (doc) {}' } } });
    const raw = { map: { fields: { e: 'asc' } }, reduce: '_count', options: { collation: 'raw' } };
    await t.put('_design/raw', { language: 'query', views: { raw } });
    await t.put('_design/text', { language: 'query', views: { v: { map: { fields: 'all' } }, w: 1 } });
    const json = { type: 'json', partitioned: false };
    const ab = { ddoc: '_design/ab', name: 'ab', ...json, def: { fields: [{ a: 'asc' }, { b: 'asc' }] } };
    const def = { fields: [{ c: 'desc' }], partial_filter_selector: { d: { $eq: 1 } } };
    const c = { ddoc: '_design/c', name: 'c', ...json, def };
    assertJson(await t.get('/_index'), 200, { total_rows: 3, indexes: [ALL_DOCS, ab, c] });
    assertJson(await t.get('/_index?skip=1&limit=1'), 200, { total_rows: 3, indexes: [ab] });
  }),

  test('an index is removed, and its design document with the last index', async (t) => {
    await index(t, ['a'], 'one');
    await t.at('POST', '/_index', { json: { index: { fields: ['b'] }, name: 'two', ddoc: 'one' } });
    const missing = [404, 'not_found', 'missing'] as const;
    assertError(await t.at('DELETE', '/_index/one/json/three'), ...missing);
    assertError(await t.at('DELETE', '/_index/one/text/one'), ...missing);
    assertError(await t.at('DELETE', '/_index/nothing/json/one'), ...missing);
    assertError(await t.at('DELETE', '/_index/one'), ...missing);
    assertJson(await t.at('DELETE', '/_index/one/json/one'), 200, { ok: true });
    assert.equal((await t.get('/_design/one')).status, 200);
    assertJson(await t.at('DELETE', '/_index/_design/one/json/two'), 200, { ok: true });
    assertError(await t.get('/_design/one'), 404, 'not_found', 'deleted');
    assertJson(await t.get('/_index'), 200, { total_rows: 1, indexes: [ALL_DOCS] });
    // And are made anew over the deleted one.
    await index(t, ['a'], 'one');
    assert.equal(at((await t.get('/_index')).json, 'total_rows'), 2);
  }),

  test('many indexes are removed in one request', async (t) => {
    await index(t, ['a'], 'one');
    await index(t, ['b'], 'two');
    await t.put('_design/views', { views: { v: { map: 'function (doc) {}' } } });
    const docids = ['_design/one', 'two', '_design/three', '_design/views'];
    const answer = await t.at('POST', '/_index/_bulk_delete', { json: { docids } });
    assertJson(answer, 200, {
      success: [
        { id: '_design/one', ok: true },
        { id: '_design/two', ok: true },
      ],
      fail: [
        { id: '_design/three', error: 'not_found', reason: 'missing' },
        { id: '_design/views', error: 'not_found', reason: 'missing' },
      ],
    });
    assert.equal((await t.get('/_design/views')).status, 200);
  }),

  test('a design document with other views is kept when its last index is removed', async (t) => {
    await t.put('_design/views', { views: { v: { map: 'function (doc) { emit(1); }' } } });
    const answer = await t.at('POST', '/_index', { json: { index: { fields: ['a'] }, ddoc: 'views' } });
    assert.deepEqual([answer.status, at(answer.json, 'error')], [400, 'invalid_ddoc_lang']);
    assert.match(stringAt(answer.json, 'reason'), /^Existing design doc has an invalid language: "javascript"/);
  }),

  test('an invalid index is refused', async (t) => {
    for (const [json, error] of wrong) {
      const answer = await t.at('POST', '/_index', { json });
      assert.deepEqual(
        [answer.status, at(answer.json, 'error')],
        [400, error],
        `${JSON.stringify(json)} ${answer.text}`,
      );
    }
    const text = await t.at('POST', '/_index', { json: { index: { fields: ['a'] }, type: 'text' } });
    assert.equal(text.status, 501);
    assert.equal((await t.at('POST', '/_index', { body: '{}' })).status, 415);
    assert.equal((await t.at('PUT', '/_index', { json: {} })).status, 405);
    assert.equal((await t.at('POST', '/_index/a/json/b', { json: {} })).status, 405);
  }),

  test('many indexes created simultaneously in one design document all exist', async (t) => {
    const names = Array.from({ length: 20 }, (_, place) => `i${place}`);
    const answers = await Promise.all(
      names.map((name) => t.at('POST', '/_index', { json: { index: { fields: [name] }, ddoc: 'shared', name } })),
    );
    for (const answer of answers) assert.equal(at(answer.json, 'result'), 'created', answer.text);
    const views = at((await t.get('/_design/shared')).json, 'views');
    assert.sameMembers(Object.keys(views instanceof Object ? views : {}), names);
  }),
]);
