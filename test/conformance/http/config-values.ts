import { assert } from 'chai';
import { basic } from '../../support/conformance/accounts.ts';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** Values by which a service would lock its clients out, or break, and those just beside them that it takes. */
const BOUNDS: readonly (readonly [name: string, refused: readonly string[], taken: readonly string[]])[] = [
  ['svc/max_document_size', ['0', '19', '-1', 'NaN', '', '1e9', '0x1000', ' 300', 'infinity'], ['20', '4294967296']],
  ['svc/max_attachment_chunk_size', ['-1', '', 'none'], ['0', 'infinity']],
  ['svc/os_process_timeout', ['2147483648', '-1', ''], ['0', '2147483647']],
  ['httpd/changes_timeout', ['0', '2147483648'], ['1', '2147483647']],
  ['httpd/max_uri_length', ['0', '10', '99'], ['100', '']],
  ['httpd/max_bytes_in_flight', ['0', '1000'], ['262144']],
  ['httpd/bind_address', ['http://localhost', '127.0.0.1:5984', 'a b'], ['::1', '[::1]', '0.0.0.0', 'localhost', '']],
  ['httpd/WWW-Authenticate', ['Basic realm="é"'], ['Basic realm="x"', '']],
  ['httpd/x_forwarded_host', ['a b', 'a:'], ['X-Host', '']],
  ['svc_httpd_auth/timeout', ['0', '-1', '', '99999999999'], ['1']],
  ['svc_httpd_auth/authentication_db', ['_replicator', 'Users', 'a b', '../x'], ['people', '_users', '']],
  ['svc_httpd_auth/iterations', ['0', '-5', '', '99', '100001', 'NaN'], ['100', '100000']],
  ['svc_httpd_auth/min_iterations', ['0', '10001', ''], ['1', '10000']],
  ['svc_httpd_auth/max_iterations', ['0', '9999', '', '10000001'], ['10000', '10000000']],
  ['cors/methods', ['GET, PÜT', 'a b'], ['GET, POST', 'GET,', '']],
  ['cors/max_age', ['-1', '', 'NaN'], ['0', '86400']],
  ['csp/attachments_header_value', ['sandbox ’', '漢'], ["default-src 'self'", '']],
  ['attachments/compression_level', ['10', '-1', ''], ['0', '9']],
  ['log/max_files', ['0', '1e15', '999999999999'], ['1', '1000']],
  ['uuids/max_count', ['-1', '', '99999999999'], ['0', '1000000']],
  ['replicator/worker_batch_size', ['0', '10001', ''], ['1', '10000']],
  ['replicator/connection_timeout', ['0', '2147483648'], ['1']],
  ['replicator/max_replication_retry_count', ['-1', ''], ['0', 'infinity']],
  ['vhosts/example.com', ['', 'db', 'http://x/'], ['/db']],
  ['database_owners/db', ['', 'db1.example.org', 'settee@'], ['settee@db1.example.org:5984']],
  ['database_owners/_users', ['settee@db1.example.org:5984'], []],
  ['jwt_keys/hmac:a', ['', '%%%', 'a b'], ['aGVsbG8=']],
  ['jwt_keys/rsa:a', ['', 'aGVsbG8='], ['-----BEGIN PUBLIC KEY-----\\nMIIB\\n-----END PUBLIC KEY-----']],
];

/** Each setting is held to values with which the service can be used, and put right again (docs/http/server.md#settings). */
export default suite('config_values', [
  ...BOUNDS.map(([name, refused, taken]) =>
    test(`${name} has bounds`, async (t) => {
      // A host may have given it at the start.
      const headers = { 'x-svc-persist': 'false' };
      const before = await t.request('GET', `/_config/${name}`);
      for (const json of refused) {
        const answer = await t.request('PUT', `/_config/${name}`, { json, headers });
        assert.equal(answer.status, 400, `${json}: ${answer.text}`);
        assert.equal(at(answer.json, 'error'), 'bad_request');
        assert.match(stringAt(answer.json, 'reason'), new RegExp(`^Setting ${name} .*(?:must be|is no) `));
        assert.equal((await t.request('GET', `/_config/${name}`)).text, before.text);
      }
      try {
        for (const json of taken) {
          assert.equal((await t.request('PUT', `/_config/${name}`, { json, headers })).status, 200, json);
          assertJson(await t.request('GET', `/_config/${name}`), 200, json);
        }
      } finally {
        await t.request('DELETE', `/_config/${name}`, { headers });
      }
    }),
  ),

  test('a deletion is refused if the default contradicts other settings', async (t) => {
    const path = (key: string) => `/_config/svc_httpd_auth/${key}`;
    try {
      assert.equal((await t.request('PUT', path('max_iterations'), { json: '300000' })).status, 200);
      assert.equal((await t.request('PUT', path('iterations'), { json: '200000' })).status, 200);
      const refused = await t.request('DELETE', path('max_iterations'));
      assert.equal(refused.status, 400);
      assert.match(stringAt(refused.json, 'reason'), /iterations \(200000\) is between .*max_iterations \(100000\)/);
      assertJson(await t.request('GET', path('max_iterations')), 200, '300000');
    } finally {
      for (const key of ['iterations', 'max_iterations']) await t.request('DELETE', path(key));
    }
    assertJson(await t.request('GET', path('max_iterations')), 200, '100000');
  }),

  test('an admin who could not log in is not created', async (t) => {
    for (const [name, json] of [
      ['a%3Ab', 'secret'],
      ['ada', ''],
    ] as const) {
      const answer = await t.request('PUT', `/_config/admins/${name}`, { json });
      assert.equal(answer.status, 400, answer.text);
    }
    assertJson(await t.request('GET', '/_config/admins'), 200, {});
  }),

  test('all origins with credentials are refused in a section of one host', async (t) => {
    assertJson(await t.request('PUT', '/_config/cors:example.com/origins', { json: '*' }), 200, '');
    try {
      const answer = await t.request('PUT', '/_config/cors:example.com/credentials', { json: 'true' });
      assertError(
        answer,
        400,
        'bad_request',
        'Settings cors:example.com/origins and cors:example.com/credentials would let every page act with the rights of the user who is logged in. List the origins, or turn credentials off.',
      );
    } finally {
      await t.request('DELETE', '/_config/cors:example.com/origins');
    }
  }),

  test(
    'an admin created with changed iterations can log in',
    async (given) => {
      const t = await given.withSettings({});
      assert.equal((await t.request('PUT', '/_config/svc_httpd_auth/iterations', { json: '1' })).status, 400);
      assert.equal((await t.request('PUT', '/_config/svc_httpd_auth/iterations', { json: '100' })).status, 200);
      assert.equal((await t.request('PUT', '/_config/admins/carl', { json: 'pw' })).status, 200);
      assert.equal((await t.request('GET', '/_config', { headers: basic('carl', 'pw') })).status, 200);
    },
    { needs: ['settings'] },
  ),
]);
