import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const wrong: readonly [what: unknown, error: string, reason: RegExp][] = [
  [{}, 'missing_required_key', /^Missing required key: selector$/],
  [{ selector: {}, sorted: [] }, 'invalid_key', /^Invalid key sorted for this request\./],
  [{ selector: [] }, 'invalid_selector_json', /^Selector must be a JSON object, not: \[\]$/],
  [{ selector: null }, 'invalid_selector_json', /not: null$/],
  [{ selector: { a: { $foo: 1 } } }, 'invalid_operator', /^Invalid operator: "\$foo"/],
  [{ selector: { $foo: 1 } }, 'invalid_operator', /^Invalid operator: "\$foo"/],
  [
    { selector: { $gt: 1 } },
    'invalid_selector',
    /^One or more conditions is missing a field name\. Put each condition into the object of its field/,
  ],
  [
    { selector: { '': 1 } },
    'invalid_selector',
    /^One or more conditions is missing a field name\. Put each condition into the object of its field/,
  ],
  [{ selector: { a: { '': 1 } } }, 'invalid_field_name', /^Invalid field name: ""/],
  [{ selector: { 'a..b': 1 } }, 'invalid_field_name', /^Invalid field name: "a\.\.b"/],
  [{ selector: { $and: {} } }, 'bad_arg', /^Bad argument for operator \$and: \{\}/],
  [{ selector: { $or: 1 } }, 'bad_arg', /^Bad argument for operator \$or: 1/],
  [{ selector: { $nor: { a: 1 } } }, 'bad_arg', /^Bad argument for operator \$nor: /],
  [{ selector: { $not: [] } }, 'bad_arg', /^Bad argument for operator \$not: \[\]/],
  [{ selector: { a: { $in: 1 } } }, 'bad_arg', /^Bad argument for operator \$in: 1/],
  [{ selector: { a: { $nin: {} } } }, 'bad_arg', /^Bad argument for operator \$nin: /],
  [{ selector: { a: { $all: 'x' } } }, 'bad_arg', /^Bad argument for operator \$all: "x"/],
  [{ selector: { a: { $exists: 1 } } }, 'bad_arg', /^Bad argument for operator \$exists: 1/],
  [{ selector: { a: { $type: 1 } } }, 'bad_arg', /^Bad argument for operator \$type: 1/],
  [{ selector: { a: { $size: -1 } } }, 'bad_arg', /^Bad argument for operator \$size: -1/],
  [{ selector: { a: { $size: 1.5 } } }, 'bad_arg', /^Bad argument for operator \$size: 1\.5/],
  [{ selector: { a: { $mod: [0, 1] } } }, 'bad_arg', /^Bad argument for operator \$mod: \[0,1\]/],
  [{ selector: { a: { $mod: [2] } } }, 'bad_arg', /^Bad argument for operator \$mod: \[2\]/],
  [{ selector: { a: { $regex: 1 } } }, 'bad_arg', /^Bad argument for operator \$regex: 1/],
  [{ selector: { a: { $regex: '[a' } } }, 'bad_arg', /^Bad argument for operator \$regex: "\[a"/],
  [{ selector: { a: { $beginsWith: 1 } } }, 'bad_arg', /^Bad argument for operator \$beginsWith: 1/],
  [{ selector: { a: { $elemMatch: 1 } } }, 'bad_arg', /^Bad argument for operator \$elemMatch: 1/],
  [{ selector: {}, limit: -1 }, 'invalid_non_neg_integer', /^-1 is not an integer greater than or equal to zero/],
  [{ selector: {}, limit: '5' }, 'invalid_non_neg_integer', /^"5" is not an integer/],
  [{ selector: {}, skip: 1.5 }, 'invalid_non_neg_integer', /^1\.5 is not an integer/],
  [{ selector: {}, conflicts: 1 }, 'invalid_boolean', /^Invalid boolean value: 1/],
  [{ selector: {}, execution_stats: 'yes' }, 'invalid_boolean', /^Invalid boolean value: "yes"/],
  [{ selector: {}, fields: 'a' }, 'invalid_fields', /^Fields must be an array of strings, not: "a"$/],
  [
    { selector: {}, fields: [1] },
    'invalid_field',
    /^Invalid JSON for field spec: 1\. Give the path of a field as a string\.$/,
  ],
  [{ selector: {}, sort: 'a' }, 'invalid_sort_json', /^Sort must be an array of sort specs, not: "a"$/],
  [{ selector: {}, sort: {} }, 'invalid_sort_json', /^Sort must be an array of sort specs, not: \{\}$/],
  [{ selector: {}, sort: [1] }, 'invalid_sort_field', /^Invalid sort field: 1/],
  [{ selector: {}, sort: [{ a: 'up' }] }, 'invalid_sort_dir', /^Invalid sort direction: "up"/],
  [
    { selector: {}, sort: [{ a: 'asc' }, { b: 'desc' }] },
    'unsupported_mixed_sort',
    /^Sorts currently only support a single direction for all fields\. Give all of them "asc", or all "desc"\.$/,
  ],
  [{ selector: {}, use_index: 1 }, 'invalid_index_name', /^Invalid index name: 1/],
  [{ selector: {}, bookmark: 'x' }, 'invalid_bookmark', /^Invalid bookmark value: x/],
  [
    { selector: {}, bookmark: 1 },
    'invalid_string',
    /^Invalid string: 1, given for bookmark\. Give the bookmark of an earlier response\.$/,
  ],
];

/** What a selector query can't ask: 400, with a word and a reason for each mistake. */
export default suite('find_errors', [
  test('invalid queries are refused with the reason', async (t) => {
    for (const [body, error, reason] of wrong) {
      for (const path of ['/_find', '/_explain']) {
        // A bookmark is read when the query runs.
        if (path === '/_explain' && error === 'invalid_bookmark') continue;
        const answer = await t.at('POST', path, { json: body });
        assert.deepEqual(
          [answer.status, at(answer.json, 'error')],
          [400, error],
          `${JSON.stringify(body)} ${answer.text}`,
        );
        assert.match(`${at(answer.json, 'reason')}`, reason);
      }
    }
  }),

  test('a query or index with too many names or values is refused', async (t) => {
    const names = Array.from({ length: 1_001 }, (_, n) => `f${n}`);
    const selector = { f0: 1 };
    const fields =
      'A query returns 1000 fields at most, and this one names 1001. Leave "fields" out for whole documents.';
    const order =
      "A sort has 1000 fields at most, and so has an index; this one has 1001. Leave out fields that don't change the order.";
    const find = (more: object) => t.at('POST', '/_find', { json: { selector, ...more } });
    assertError(await find({ fields: names }), 400, 'invalid_fields', fields);
    assertError(await find({ sort: names }), 400, 'invalid_sort_json', order);
    assertError(await t.at('POST', '/_index', { json: { index: { fields: names } } }), 400, 'invalid_sort_json', order);
    assert.equal((await find({ fields: names.slice(1) })).status, 200);
    const long = await find({ fields: ['x'.repeat(65_537)] });
    assert.deepEqual([long.status, at(long.json, 'error')], [400, 'invalid_field_name']);
    assert.match(`${at(long.json, 'reason')}`, /It has more than 65536 characters\.$/);
  }),

  test('an object in a query can have at most 10,000 members', async (t) => {
    const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, n) => [`f${n}`, 1]));
    const reason =
      'the request entity is too large: an object in a body of this kind may have 10000 members; nothing was changed. Ask for less at a time, or keep a long list in documents and match by a field.';
    for (const path of ['/_find', '/_explain', '/_changes?filter=_selector']) {
      assertError(await t.at('POST', path, { json: { selector: many } }), 413, 'too_large', reason);
    }
  }),

  test('a sort without an index is refused', async (t) => {
    await t.put('x', { n: 1 });
    const body = { selector: { n: { $gt: 0 } }, sort: ['n'] };
    assertError(
      await t.at('POST', '/_find', { json: body }),
      400,
      'no_usable_index',
      'No index exists for this sort, try indexing by the sort fields. POST this to _index: {"index":{"fields":["n"]}}',
    );
    assert.equal((await t.at('POST', '/_explain', { json: body })).status, 400);
    const byId = await t.at('POST', '/_find', { json: { ...body, sort: [{ _id: 'desc' }] } });
    assert.equal(byId.status, 200);
  }),

  test('a query on a missing database is answered 404', async (t) => {
    const answer = await t.request('POST', '/nowhere/_find', { json: { selector: {} } });
    assertError(answer, 404, 'not_found', 'no_db_file');
    assertError(await t.request('GET', '/nowhere/_index'), 404, 'not_found', 'no_db_file');
  }),
]);
