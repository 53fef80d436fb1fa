import { assert } from 'chai';
import { basic, type Headers, ROOT, USER_ID, withUsers } from '../../../support/conformance/accounts.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import type { RequestOptions, Toolkit } from '../../../support/conformance/toolkit.ts';

/** Who asks, in the order of the table's columns. */
const SENDERS: readonly (readonly [who: string, headers: Headers])[] = [
  ['anonymous', {}],
  ['user', basic('user', 'user')],
  ['member', basic('member', 'member')],
  ['database admin', basic('boss', 'boss')],
  ['server admin', ROOT],
];

/**
 * Every endpoint, and who gets past the question of rights: `+`, whatever becomes of the request then. `-` is 401. `{db}` has members and an
 * admin. Requests that would change what the next ones need are made so that they fail later.
 */
export const ACCESS_TABLE = `
  GET     /                                     + + + + +
  GET     /_active_tasks                        - - - - +
  GET     /_cluster_setup                       - - - - +
  POST    /_cluster_setup                       - - - - +
  GET     /_config                              - - - - +
  GET     /_config/httpd                        - - - - +
  GET     /_config/httpd/port                   - - - - +
  PUT     /_config/httpd/port                   - - - - +
  DELETE  /_config/none/none                    - - - - +
  GET     /_log                                 - - - - +
  POST    /_log                                 + + + + +
  GET     /_membership                          - - - - +
  GET     /_node/_local                         - - - - +
  GET     /_node/_local/_config                 - - - - +
  GET     /_node/_local/_config/httpd/port      - - - - +
  PUT     /_node/_local/_config/httpd/port      - - - - +
  DELETE  /_node/_local/_config/none/none       - - - - +
  GET     /_node/_local/_prometheus             - - - - +
  GET     /_node/_local/_stats                  - - - - +
  GET     /_node/_local/_stats/svc/httpd        - - - - +
  GET     /_node/_local/_system                 - - - - +
  POST    /_node/_local/_restart                - - - - +
  GET     /_oauth/request_token                 + + + + +
  POST    /_oauth/access_token                  + + + + +
  POST    /_restart                             - - - - +
  GET     /_stats                               + + + + +
  GET     /_stats/httpd/requests                + + + + +
  GET     /_utils/                              + + + + +
  HEAD    /_utils/                              + + + + +
  GET     /_all_dbs                             + + + + +
  GET     /_dbs_info                            + + + + +
  POST    /_dbs_info                            + + + + +
  QUERY   /_dbs_info                            + + + + +
  GET     /_db_updates?timeout=0&feed=longpoll  - - - - +
  POST    /_replicate                           + + + + +
  GET     /_scheduler/jobs                      - - - - +
  GET     /_session                             + + + + +
  HEAD    /_session                             + + + + +
  POST    /_session                             + + + + +
  DELETE  /_session                             + + + + +
  GET     /_up                                  + + + + +
  GET     /_uuids                               + + + + +
  GET     /favicon.ico                          + + + + +
  PUT     /{db}                                 - - - - +
  DELETE  /{db}?rev=1-a                         - - - - +
  GET     /{db}                                 - - + + +
  HEAD    /{db}                                 - - + + +
  POST    /{db}                                 - - + + +
  GET     /{db}/_all_docs                       - - + + +
  POST    /{db}/_all_docs                       - - + + +
  QUERY   /{db}/_all_docs                       - - + + +
  POST    /{db}/_all_docs/queries               - - + + +
  QUERY   /{db}/_all_docs/queries               - - + + +
  GET     /{db}/_auto_purge                     - - + + +
  PUT     /{db}/_auto_purge                     - - - + +
  GET     /{db}/_auto_purge/peers               - - - + +
  POST    /{db}/_bulk_docs                      - - + + +
  POST    /{db}/_bulk_get                       - - + + +
  QUERY   /{db}/_bulk_get                       - - + + +
  GET     /{db}/_changes                        - - + + +
  POST    /{db}/_changes                        - - + + +
  QUERY   /{db}/_changes                        - - + + +
  POST    /{db}/_compact                        - - - + +
  POST    /{db}/_compact/d                      - - - + +
  GET     /{db}/_design_docs                    - - + + +
  POST    /{db}/_design_docs                    - - + + +
  QUERY   /{db}/_design_docs                    - - + + +
  POST    /{db}/_design_docs/queries            - - + + +
  QUERY   /{db}/_design_docs/queries            - - + + +
  POST    /{db}/_ensure_full_commit             - - + + +
  POST    /{db}/_explain                        - - + + +
  QUERY   /{db}/_explain                        - - + + +
  POST    /{db}/_find                           - - + + +
  QUERY   /{db}/_find                           - - + + +
  GET     /{db}/_index                          - - + + +
  POST    /{db}/_index                          - - - + +
  DELETE  /{db}/_index/d/json/none              - - - + +
  GET     /{db}/_local_docs                     - - + + +
  POST    /{db}/_local_docs                     - - + + +
  QUERY   /{db}/_local_docs                     - - + + +
  POST    /{db}/_local_docs/queries             - - + + +
  QUERY   /{db}/_local_docs/queries             - - + + +
  GET     /{db}/_local/x                        - - + + +
  PUT     /{db}/_local/x                        - - + + +
  DELETE  /{db}/_local/x                        - - + + +
  COPY    /{db}/_local/x                        - - + + +
  POST    /{db}/_missing_revs                   - - + + +
  QUERY   /{db}/_missing_revs                   - - + + +
  POST    /{db}/_purge                          - - - + +
  GET     /{db}/_revs_limit                     - - + + +
  PUT     /{db}/_revs_limit                     - - - + +
  POST    /{db}/_revs_diff                      - - + + +
  QUERY   /{db}/_revs_diff                      - - + + +
  GET     /{db}/_security                       - - + + +
  PUT     /{db}/_security                       - - - + +
  POST    /{db}/_temp_view                      - - - + +
  QUERY   /{db}/_temp_view                      - - - + +
  GET     /{db}/_time_seq                       - - + + +
  DELETE  /{db}/_time_seq                       - - - + +
  POST    /{db}/_view_cleanup                   - - - + +
  GET     /{db}/doc                             - - + + +
  HEAD    /{db}/doc                             - - + + +
  GET     /{db}/doc?open_revs=all               - - + + +
  PUT     /{db}/doc                             - - + + +
  DELETE  /{db}/doc                             - - + + +
  COPY    /{db}/doc                             - - + + +
  POST    /{db}/doc                             - - + + +
  GET     /{db}/doc/file                        - - + + +
  PUT     /{db}/doc/file                        - - + + +
  DELETE  /{db}/doc/file                        - - + + +
  GET     /{db}/_design/d                       - - + + +
  PUT     /{db}/_design/new                     - - - + +
  GET     /{db}/_design/d/file                  - - + + +
  PUT     /{db}/_design/other/file              - - - + +
  GET     /{db}/_design/d/_info                 - - + + +
  POST    /{db}/_design/d/_compact              - - - + +
  GET     /{db}/_design/d/_view/v               - - + + +
  POST    /{db}/_design/d/_view/v               - - + + +
  QUERY   /{db}/_design/d/_view/v               - - + + +
  POST    /{db}/_design/d/_view/v/queries       - - + + +
  QUERY   /{db}/_design/d/_view/v/queries       - - + + +
  GET     /{db}/_design/d/_list/l/v             - - + + +
  POST    /{db}/_design/d/_list/l/v             - - + + +
  QUERY   /{db}/_design/d/_list/l/v             - - + + +
  OPTIONS /{db}/_design/d/_list/l/v             - - + + +
  GET     /{db}/_design/d/_show/s               - - + + +
  POST    /{db}/_design/d/_show/s               - - + + +
  HEAD    /{db}/_design/d/_show/s               - - + + +
  PUT     /{db}/_design/d/_show/s               - - + + +
  DELETE  /{db}/_design/d/_show/s               - - + + +
  COPY    /{db}/_design/d/_show/s               - - + + +
  OPTIONS /{db}/_design/d/_show/s               - - + + +
  POST    /{db}/_design/d/_update/u             - - + + +
  GET     /{db}/_design/d/_update/u             - - + + +
  PUT     /{db}/_design/d/_update/u             - - + + +
  DELETE  /{db}/_design/d/_update/u             - - + + +
  COPY    /{db}/_design/d/_update/u             - - + + +
  OPTIONS /{db}/_design/d/_update/u             - - + + +
  PATCH   /{db}/_design/d/_update/u             - - + + +
  GET     /{db}/_design/d/_rewrite/x            - - + + +
  POST    /{db}/_design/d/_rewrite/x            - - + + +
  HEAD    /{db}/_design/d/_rewrite/x            - - + + +
  PUT     /{db}/_design/d/_rewrite/x            - - + + +
  DELETE  /{db}/_design/d/_rewrite/x            - - + + +
  COPY    /{db}/_design/d/_rewrite/x            - - + + +
  OPTIONS /{db}/_design/d/_rewrite/x            - - + + +
`;

/** No password, no setting, no action: what takes one refuses the rest. */
const BODY = { docs: [], keys: [], selector: {}, queries: [], index: { fields: ['a'] }, map: 'function (doc) {}' };

function contentFor(path: string): RequestOptions {
  // Another type than JSON, which restarts refuse.
  if (path.endsWith('/_restart')) return { body: '{}' };
  return { json: path.endsWith('/_session') ? { name: 'user', password: 'user' } : BODY };
}

async function isPastRights(t: Toolkit, method: string, path: string, headers: Headers): Promise<boolean> {
  const isPlain = method === 'GET' || method === 'HEAD';
  const sent = { ...headers, ...(method === 'COPY' ? { destination: '_local/copy' } : {}) };
  const address = path.replace('{db}', t.db);
  const answer = await t.request(method, address, { headers: sent, ...(isPlain ? {} : contentFor(path)) });
  const refused = answer.status === 401;
  if (refused && method !== 'HEAD') assert.equal(at(answer.json, 'error'), 'unauthorized');
  assert.notEqual(answer.status, 429);
  return !refused;
}

/** Those of QUERY, which not every host can send, or the others. */
function rowsOf(isQuery: boolean): readonly string[] {
  const rows = ACCESS_TABLE.trim().split('\n');
  return rows.map((row) => row.trim()).filter((row) => row.startsWith('QUERY') === isQuery);
}

async function assertRights(given: Toolkit, rows: readonly string[]): Promise<void> {
  const t = await withUsers(given, [{ name: 'user' }, { name: 'member' }, { name: 'boss' }]);
  const design = { views: { v: { map: 'function (doc) {}' } } };
  await t.at('PUT', '/_design/d', { headers: ROOT, json: design });
  await t.at('PUT', '/doc', { headers: ROOT, json: {} });
  const security = { members: { names: ['member'] }, admins: { names: ['boss'] } };
  // An answer to PUT _security by an admin would replace it: it is put back before each request.
  for (const row of rows) {
    const [method = '', path = '', ...expected] = row.split(/ +/);
    const found: string[] = [];
    for (const [, headers] of SENDERS) {
      await t.at('PUT', '/_security', { headers: ROOT, json: security });
      found.push((await isPastRights(t, method, path, headers)) ? '+' : '-');
    }
    assert.deepEqual(found, expected, row);
  }
}

/** Every endpoint by everybody (docs/http/accounts.md#access-rights). */
export default suite('accounts_access_matrix', [
  test(
    'each user gets exactly the permitted status from every resource',
    (given) => assertRights(given, rowsOf(false)),
    { needs: ['settings'] },
  ),

  test('the same rights are needed for QUERY as for POST', (given) => assertRights(given, rowsOf(true)), {
    needs: ['settings', 'query-method'],
  }),

  test(
    'in a database without members everyone is a member, and no one is an admin',
    async (given) => {
      const t = await withUsers(given, [{ name: 'user' }]);
      for (const headers of [{}, basic('user', 'user')]) {
        assert.isTrue(await isPastRights(t, 'GET', '/{db}/_all_docs', headers));
        assert.isTrue(await isPastRights(t, 'PUT', '/{db}/doc', headers));
        assert.isFalse(await isPastRights(t, 'PUT', '/{db}/_design/d', headers));
        assert.isFalse(await isPastRights(t, 'PUT', '/{db}/_security', headers));
        assert.isFalse(await isPastRights(t, 'DELETE', '/{db}', headers));
      }
      assert.isFalse(await isPastRights(t, 'GET', `/_users/_changes`, basic('user', 'user')));
      assert.isTrue(await isPastRights(t, 'GET', `/_users/${USER_ID}user`, basic('user', 'user')));
    },
    { needs: ['settings'] },
  ),
]);
