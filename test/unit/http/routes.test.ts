import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import { ask, askJson, openCore } from './support.ts';

let core: Core;

beforeAll(async () => {
  core = await openCore({ httpd: { max_uri_length: '200' } });
  await ask(core, 'PUT /db');
});

afterAll(() => core.close());

describe('unsupported methods', () => {
  test.each([
    ['PUT /', 'GET,HEAD'],
    ['POST /_all_dbs', 'GET,HEAD'],
    ['DELETE /_active_tasks', 'GET,HEAD'],
    ['POST /favicon.ico', 'GET,HEAD'],
    ['POST /_uuids', 'GET'],
    ['PUT /_dbs_info', 'GET,HEAD,POST,QUERY'],
    ['GET /_replicate', 'POST'],
    ['PUT /_session', 'GET,HEAD,POST,DELETE'],
    ['POST /_config/section/key', 'GET,PUT,DELETE'],
    ['PUT /_log', 'GET,POST'],
    ['PATCH /db', 'DELETE,GET,HEAD,POST'],
    ['PATCH /db/doc', 'DELETE,GET,HEAD,POST,PUT,COPY'],
    ['PATCH /db/_design/x', 'DELETE,GET,HEAD,POST,PUT,COPY'],
    ['PATCH /db/_local/x', 'DELETE,GET,HEAD,POST,PUT,COPY'],
    ['POST /db/doc/attachment', 'DELETE,GET,HEAD,PUT'],
    ['PUT /db/_changes', 'GET,HEAD,POST,QUERY'],
    ['PUT /db/_all_docs', 'GET,POST,HEAD,QUERY'],
    ['PUT /db/_design/x/_view/y', 'GET,POST,HEAD,QUERY'],
    ['GET /db/_bulk_docs', 'POST'],
    ['GET /db/_purge', 'POST'],
    ['GET /db/_missing_revs', 'POST,QUERY'],
    ['GET /db/_revs_diff', 'POST,QUERY'],
    ['GET /db/_ensure_full_commit', 'POST'],
    ['GET /db/_compact', 'POST'],
    ['GET /db/_compact/ddoc', 'POST'],
    ['GET /db/_design/ddoc/_compact', 'POST'],
    ['GET /db/_view_cleanup', 'POST'],
    ['GET /db/_temp_view', 'POST,QUERY'],
    ['POST /db/_security', 'PUT,GET'],
    ['DELETE /db/_revs_limit', 'PUT,GET'],
    ['OPTIONS /db/doc', 'DELETE,GET,HEAD,POST,PUT,COPY'],
  ])('%s is not allowed', async (what, allow) => {
    const { status, headers, body } = await ask(core, what);
    expect(status).toBe(405);
    expect(headers).toMatchObject({ allow });
    expect(body).toBe(`{"error":"method_not_allowed","reason":"Only ${allow} allowed"}\n`);
  });
});

describe('invalid paths', () => {
  test.each([
    ['GET /absent', 'not_found', 'no_db_file'],
    ['GET /absent/doc', 'not_found', 'no_db_file'],
    ['PATCH /absent', 'not_found', 'no_db_file'],
    ['GET /absent/_bulk_docs', 'not_found', 'no_db_file'],
    ['GET /_unknown', 'not_found', 'no_db_file'],
    ['GET /constructor/__proto__', 'not_found', 'no_db_file'],
    ['DELETE /absent', 'not_found', 'missing'],
    ['GET /_uuids/more', 'not_found', 'missing'],
    ['GET /db/_security/more', 'not_found', 'missing'],
    ['GET /db/_all_docs/more', 'not_found', 'missing'],
    ['GET /db/doc', 'not_found', 'missing'],
    ['GET /db/_design/x', 'not_found', 'missing'],
    ['GET /db/_design/x/_unknown', 'not_found', 'missing handler: _unknown'],
    ['POST /db/_compact/absent', 'not_found', 'missing'],
  ])('%s is not found', async (what, error, reason) => {
    expect(await askJson(core, what)).toEqual([404, { error, reason }]);
  });

  test.each([
    ['GET /db/_unknown', 'Only reserved document ids may start with underscore.'],
    ['PUT /db/__proto__', 'Only reserved document ids may start with underscore.'],
    ['GET /db/_design', 'Only reserved document ids may start with underscore.'],
    ['GET /db/_local', 'Invalid _local document id.'],
    ['GET /db/_local/a/b', '_local documents do not accept attachments.'],
    ['GET /db/_local%2Fa/b', '_local documents do not accept attachments.'],
    ['GET /db/a%FF', 'Document id must be valid UTF-8'],
    ['DELETE /db?rev=1-a', expect.stringMatching(/^You tried to DELETE a database with a \?rev= parameter\./)],
  ])('%s is a bad request', async (what, reason) => {
    expect(await askJson(core, what, { body: '{}' })).toEqual([400, { error: 'bad_request', reason }]);
  });

  test('the administration page is not implemented where the host does not include it', async () => {
    const [status, answer] = await askJson(core, 'GET /_utils/index.html');
    expect(status).toBe(501);
    const reason =
      'This app does not include the administration page, or the request did not go through its service worker. With Vite, settee({ utils: true }) adds the page; see docs/browser.md#the-administration-page.';
    expect(answer).toEqual({ error: 'not_implemented', reason });
    expect(await askJson(core, 'GET /_utils')).toEqual([501, { error: 'not_implemented', reason }]);
  });

  test('the settings of the administration page are there on every host', async () => {
    expect(await askJson(core, 'GET /_utils/settings.json')).toEqual([200, { read_only: false }]);
  });

  test('an encoded slash after _design is redirected to the plain one, with the query', async () => {
    const answer = await ask(core, 'GET /db/_design%2Fa%2Fb/x%2Fy?rev=1-a', { headers: { host: 'h' } });
    expect(answer.status).toBe(301);
    expect(answer.headers).toMatchObject({ location: 'http://h/db/_design/a%2Fb/x%2Fy?rev=1-a' });
  });

  test('either slash is accepted for writing', async () => {
    expect((await ask(core, 'PUT /db/_design%2Fboth', { body: '{}' })).status).toBe(201);
    expect((await ask(core, 'GET /db/_design/both')).status).toBe(200);
    expect((await ask(core, 'PUT /db/_local%2Fboth', { body: '{}' })).status).toBe(201);
    expect((await ask(core, 'GET /db/_local/both')).status).toBe(200);
  });

  test('an address longer than the configured length is refused', async () => {
    const reason = 'the request entity is too long';
    expect(await askJson(core, `GET /db/${'x'.repeat(200)}`)).toEqual([414, { error: 'too_long', reason }]);
  });
});
