import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, putViews } from '../../support/conformance/view-steps.ts';

const path = '/_design/test/_view/v/queries';

/** `POST …/_view/{view}/queries` (docs/http/bulk.md#several-lists-at-once). */
export default suite('view_queries', [
  test('each query is answered by itself, in order', async (t) => {
    await putViews(t, { v: { map: 'function (doc) { emit(doc.integer, 1); }', reduce: '_count' } });
    await t.bulk(numbered(4));
    const queries = [{ key: 2, reduce: false }, {}, { group: true, keys: [3, 0] }];
    assertJson(await t.at('POST', path, { json: { queries } }), 200, {
      results: [
        { total_rows: 4, offset: 2, rows: [{ id: '2', key: 2, value: 1 }] },
        { rows: [{ key: null, value: 4 }] },
        {
          rows: [
            { key: 3, value: 1 },
            { key: 0, value: 1 },
          ],
        },
      ],
    });
  }),

  test('parameters in the address are defaults for all queries', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.integer, null); }' });
    await t.bulk(numbered(4));
    const queries = [{ limit: 1 }, { startkey: 3 }];
    assertJson(await t.at('POST', `${path}?descending=true&limit=2`, { json: { queries } }), 200, {
      results: [
        { total_rows: 4, offset: 0, rows: [{ id: '3', key: 3, value: null }] },
        {
          total_rows: 4,
          offset: 0,
          rows: [
            { id: '3', key: 3, value: null },
            { id: '2', key: 2, value: null },
          ],
        },
      ],
    });
  }),

  test('an empty list of queries has an empty list of results', async (t) => {
    await putViews(t, { v: 'function (doc) {}' });
    assertJson(await t.at('POST', path, { json: { queries: [] } }), 200, { results: [] });
  }),

  test('one invalid query fails the whole request', async (t) => {
    await putViews(t, { v: 'function (doc) {}' });
    const wrong = await t.at('POST', path, { json: { queries: [{}, { limit: 'x' }] } });
    assertError(wrong, 400, 'query_parse_error', 'Invalid value for integer: x');
    const none = await t.at('POST', path, { json: { keys: [] } });
    assertError(none, 400, 'bad_request', '`queries` must be a JSON list of objects.');
    assertError(await t.get(path), 404, 'not_found', 'missing_named_view');
    assertAllowed(await t.at('PUT', path), 'GET,POST,HEAD,QUERY');
  }),
]);
