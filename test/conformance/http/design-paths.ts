import { assert } from 'chai';
import { assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { databasePath } from '../../support/conformance/toolkit.ts';

/** Ids and database names with slashes, and every way in which a path may spell them (docs/http/requests.md#request-path). */
export default suite('design_paths', [
  test('a design document can have a slash in its name', async (t) => {
    const written = await t.at('PUT', '/_design/a%2Fb', { json: { n: 1 } });
    const rev = assertWritten(written, 201, '_design/a/b');
    assert.equal(written.header('location'), `${t.baseUrl}/${t.db}/_design/a%2Fb`);
    assertJson(await t.get('/_design/a%2Fb'), 200, { _id: '_design/a/b', _rev: rev, n: 1 });
  }),

  test('design documents work in databases with slashes in their names', async (t) => {
    for (const name of ['test_suite_db', 'test_suite_db/with_slashes', 'a/b/c']) {
      await t.createDatabase(name);
      const path = databasePath(name);
      const written = await t.request('PUT', `${path}/_design/test`, { json: { n: 1 } });
      assert.equal(written.status, 201);
      assert.equal(written.header('location'), `${t.baseUrl}${path}/_design/test`);
      const rev = stringAt(written.json, 'rev');
      assertJson(await t.request('GET', `${path}/_design/test`), 200, { _id: '_design/test', _rev: rev, n: 1 });
      const removed = await t.request('DELETE', `${path}/_design/test?rev=${rev}`);
      assert.equal(removed.status, 200);
    }
  }),

  ...[
    'a/b',
    'a//b',
    '/a',
    'a/',
    'a+b',
    'a%b',
    'a%2Fb',
    'a b',
    'a?b',
    'a#b',
    'a&b=c',
    'a:b',
    'a;b',
    'a@b',
    "a'b",
    '😀',
  ].map((id) =>
    test(`the id ${JSON.stringify(id)} is written, read, listed, copied and deleted`, async (t) => {
      const path = `/${encodeURIComponent(id)}`;
      const written = await t.at('PUT', path, { json: { n: 1 } });
      const rev = assertWritten(written, 201, id);
      assertJson(await t.get(path), 200, { _id: id, _rev: rev, n: 1 });
      const row = { id, key: id, value: { rev } };
      const key = encodeURIComponent(JSON.stringify(id));
      assertJson(await t.get(`/_all_docs?key=${key}`), 200, { total_rows: 1, offset: 0, rows: [row] });
      const copied = await t.at('COPY', path, { headers: { destination: 'copy' } });
      assertWritten(copied, 201, 'copy');
      assertWritten(await t.at('DELETE', `${path}?rev=${rev}`), 200, id);
    }),
  ),

  test('ids can have quotes, control characters and backslashes', async (t) => {
    for (const id of ['a"b', 'a\\b', 'a\nb', 'a\tb', '<a>', '\u007f', '\u0000', '. .', '%']) {
      const path = `/${encodeURIComponent(id)}`;
      const rev = assertWritten(await t.at('PUT', path, { json: { n: 1 } }), 201, id);
      assertJson(await t.get(path), 200, { _id: id, _rev: rev, n: 1 });
    }
    assert.deepInclude(await t.info(), { doc_count: 9 });
  }),

  test('the Location of a write leads to the document, whatever its id', async (t) => {
    for (const id of ['a/b', 'a+b', 'a b', 'a%b', '😀', 'a?b#c', '_design/x/y', '_local/a/b']) {
      const written = await t.at('POST', '', { json: { _id: id, n: 1 } });
      assert.equal(written.status, 201, id);
      const location = written.header('location') ?? '';
      assert.isTrue(location.startsWith(`${t.baseUrl}/`), location);
      const read = await t.request('GET', location.slice(t.baseUrl.length));
      assert.deepInclude(read.json, { _id: id, n: 1 });
    }
  }),

  test(
    'an id of dots only works with a path that the client leaves unchanged',
    async (t) => {
      for (const id of ['.', '..', '...']) {
        const path = `/${id.replaceAll('.', '%2E')}`;
        const rev = assertWritten(await t.at('PUT', path, { json: {} }), 201, id);
        assertJson(await t.get(path), 200, { _id: id, _rev: rev });
      }
    },
    { needs: ['any-url'] },
  ),
]);
