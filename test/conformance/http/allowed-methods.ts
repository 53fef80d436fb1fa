import { assert } from 'chai';
import { assertAllowed, assertError } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const below = [
  { path: '', methods: 'DELETE,GET,HEAD,POST', wrong: ['PATCH', 'COPY'] },
  { path: '/doc', methods: 'DELETE,GET,HEAD,POST,PUT,COPY', wrong: ['PATCH'] },
  { path: '/_design/test', methods: 'DELETE,GET,HEAD,POST,PUT,COPY', wrong: ['PATCH'] },
  { path: '/_local/mine', methods: 'DELETE,GET,HEAD,POST,PUT,COPY', wrong: ['PATCH'] },
  { path: '/_all_docs', methods: 'GET,POST,HEAD,QUERY', wrong: ['PUT', 'DELETE', 'PATCH', 'COPY'] },
  { path: '/_bulk_docs', methods: 'POST', wrong: ['GET', 'PUT', 'DELETE', 'HEAD'] },
  { path: '/_bulk_get', methods: 'POST,QUERY', wrong: ['GET', 'PUT'] },
  { path: '/_purge', methods: 'POST', wrong: ['GET', 'PUT'] },
  { path: '/_missing_revs', methods: 'POST,QUERY', wrong: ['GET', 'PUT'] },
  { path: '/_revs_diff', methods: 'POST,QUERY', wrong: ['GET', 'PUT'] },
  { path: '/_ensure_full_commit', methods: 'POST', wrong: ['GET', 'PUT'] },
  { path: '/_compact', methods: 'POST', wrong: ['GET', 'PUT', 'DELETE'] },
  { path: '/_security', methods: 'PUT,GET', wrong: ['POST', 'DELETE'] },
  { path: '/_auto_purge', methods: 'PUT,GET', wrong: ['POST', 'DELETE'] },
  { path: '/_auto_purge/peers', methods: 'GET', wrong: ['POST', 'PUT'] },
  { path: '/_time_seq', methods: 'GET,DELETE', wrong: ['POST', 'PUT'] },
  { path: '/_revs_limit', methods: 'PUT,GET', wrong: ['POST', 'DELETE'] },
];

const above = [
  { path: '/', methods: 'GET,HEAD', wrong: ['POST', 'PUT', 'DELETE'] },
  { path: '/_all_dbs', methods: 'GET,HEAD', wrong: ['POST', 'PUT', 'DELETE'] },
  { path: '/favicon.ico', methods: 'GET,HEAD', wrong: ['POST', 'PUT'] },
  { path: '/_uuids', methods: 'GET', wrong: ['POST', 'PUT', 'DELETE'] },
];

/** 405 tells which methods there are (docs/http/answers.md#allowed-methods). */
export default suite('allowed_methods', [
  ...below.map(({ path, methods, wrong }) =>
    test(`/db${path} allows ${methods}`, async (t) => {
      for (const method of wrong) {
        const answer = await t.at(method, path, method === 'PUT' || method === 'POST' ? { json: {} } : {});
        if (method === 'HEAD') {
          assert.equal(answer.status, 405);
          assert.equal(answer.header('allow'), methods);
        } else {
          assertAllowed(answer, methods);
        }
      }
    }),
  ),

  ...above.map(({ path, methods, wrong }) =>
    test(`${path} allows ${methods}`, async (t) => {
      for (const method of wrong) assertAllowed(await t.request(method, path), methods);
    }),
  ),

  test('a request to a missing database is answered 404, whatever the method', async (t) => {
    assertError(await t.request('GET', `/${t.db}_absent/_bulk_docs`), 404, 'not_found', 'no_db_file');
  }),
]);
