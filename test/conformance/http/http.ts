import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** What every answer carries, and how a path is read (docs/http/requests.md). */
export default suite('http', [
  test('Server names the product, and Date is an HTTP date', async (t) => {
    const answer = await t.get('');
    assert.match(answer.header('server') ?? '', /^Settee\/\d+\.\d+\.\d+\S*$/);
    // RFC 9110, 5.6.7: IMF-fixdate
    assert.match(
      answer.header('date') ?? '',
      /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/,
    );
  }),

  test('JSON answers must be revalidated, and end in a newline', async (t) => {
    await t.put('doc', {});
    for (const path of ['', '/doc', '/_all_docs', '/nobody', '/_security', '/_revs_limit']) {
      const answer = await t.get(path);
      assert.equal(answer.header('cache-control'), 'must-revalidate', path);
      assert.isTrue(answer.text.endsWith('\n'), path);
    }
  }),

  test('a slash at the end of the database path changes nothing', async (t) => {
    await t.put('doc', {});
    assert.deepInclude((await t.get('/')).json, { db_name: t.db, doc_count: 1 });
    const created = await t.at('POST', '/', { json: { _id: 'posted' } });
    assert.equal(created.status, 201);
  }),

  test(
    'empty segments of a path do not count',
    async (t) => {
      await t.put('doc', { value: 1 });
      const answer = await t.request('GET', `//${t.db}//doc/`);
      assert.deepInclude(answer.json, { _id: 'doc', value: 1 });
    },
    { needs: ['any-url'] },
  ),

  test('a segment is percent-decoded once', async (t) => {
    await t.put('a%2520b', { value: 1 });
    assert.deepInclude((await t.get('/a%2520b')).json, { _id: 'a%20b' });
    assertError(await t.get('/a%20b'), 404, 'not_found', 'missing');
  }),

  test('a plus sign in a path is a plus sign', async (t) => {
    await t.put('a+b', {});
    assert.deepInclude((await t.get('/a+b')).json, { _id: 'a+b' });
    assert.deepInclude((await t.get('/a%2Bb')).json, { _id: 'a+b' });
    assertError(await t.get('/a%20b'), 404, 'not_found', 'missing');
  }),

  test('Location percent-encodes the id', async (t) => {
    const answer = await t.at('PUT', '/a%2Fb%20c%25', { json: {} });
    assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/a%2Fb%20c%25`);
  }),

  test(
    'Location uses the host of the request',
    async (t) => {
      const answer = await t.at('PUT', '/doc', { json: {}, headers: { host: 'db.example.org:8080' } });
      assert.equal(answer.header('location'), `http://db.example.org:8080${t.basePath}/${t.db}/doc`);
    },
    { needs: ['forbidden-headers'] },
  ),

  test('unknown query parameters are ignored', async (t) => {
    const rev = await t.put('doc?colour=blue', { value: 1 });
    assert.deepEqual((await t.get('/doc?colour=blue&_=123')).json, { _id: 'doc', _rev: rev, value: 1 });
  }),
]);
