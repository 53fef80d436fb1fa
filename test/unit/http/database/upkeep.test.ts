import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '../../../../src/core/core.ts';
import { ask, askJson, openCore, pick } from '../support.ts';

let core: Core;

beforeEach(async () => {
  await core?.close();
  core = await openCore();
  await ask(core, 'PUT /db');
});

afterAll(() => core.close());

const badRequest = (reason: string) => [400, { error: 'bad_request', reason }];

describe('the revisions limit', () => {
  test('is returned as a plain number', async () => {
    expect(await ask(core, 'GET /db/_revs_limit')).toMatchObject({ body: '1000\n' });
    expect(await askJson(core, 'PUT /db/_revs_limit', { body: '7' })).toEqual([200, { ok: true }]);
    expect(await ask(core, 'GET /db/_revs_limit')).toMatchObject({ body: '7\n' });
  });

  test.each([
    ['"7"', 'Rev limit has to be an integer'],
    ['1.5', 'Rev limit has to be an integer'],
    ['0', 'Rev limit is 0; it has to be 1 or more'],
    ['-1', 'Rev limit is -1; it has to be 1 or more'],
    ['', 'invalid_json'],
  ])('%s is refused', async (body, reason) => {
    expect(await askJson(core, 'PUT /db/_revs_limit', { body })).toEqual(badRequest(reason));
    expect(await ask(core, 'GET /db/_revs_limit')).toMatchObject({ body: '1000\n' });
  });
});

describe('the security object', () => {
  test('is empty first, then as written, with additional members', async () => {
    expect(await ask(core, 'GET /db/_security')).toMatchObject({ body: '{}\n' });
    const body = '{ "members": {"names": ["ada"]}, "readers": {"roles": []}, "mine": 12345678901234567890 }';
    expect(await askJson(core, 'PUT /db/_security', { body })).toEqual([200, { ok: true }]);
    expect(await ask(core, 'GET /db/_security')).toMatchObject({
      body: '{"members":{"names":["ada"]},"readers":{"roles":[]},"mine":12345678901234567890}\n',
    });
  });

  test.each([
    ['[]', 'Request body must be a JSON object'],
    ['{"admins":[]}', 'admins must be a JSON object'],
    ['{"admins":{"names":"ada"}}', 'names must be a JSON list of strings'],
    ['{"members":{"roles":[1]}}', 'roles must be a JSON list of strings'],
    ['{"readers":{"roles":null}}', 'roles must be a JSON list of strings'],
  ])('%s is refused', async (body, reason) => {
    expect(await askJson(core, 'PUT /db/_security', { body })).toEqual(badRequest(reason));
    expect(await ask(core, 'GET /db/_security')).toMatchObject({ body: '{}\n' });
  });
});

describe('_ensure_full_commit', () => {
  test('returns the time when the database was opened', async () => {
    const [status, answer] = await askJson(core, 'POST /db/_ensure_full_commit');
    expect([status, answer]).toEqual([201, { ok: true, instance_start_time: expect.stringMatching(/^\d+$/) }]);
    expect(pick((await askJson(core, 'GET /db'))[1], 'instance_start_time')).toBe(pick(answer, 'instance_start_time'));
  });

  test('accepts an existing sequence', async () => {
    await ask(core, 'PUT /db/doc', { body: '{}' });
    expect((await ask(core, 'POST /db/_ensure_full_commit?seq=1')).status).toBe(201);
    expect(await askJson(core, 'POST /db/_ensure_full_commit?seq=2')).toEqual(
      badRequest("can't do a full commit ahead of current update_seq"),
    );
    expect((await ask(core, 'POST /db/_ensure_full_commit?seq=x')).status).toBe(400);
  });
});

describe('_uuids', () => {
  test('returns as many uuids as requested, with headers against caching', async () => {
    const answer = await ask(core, 'GET /_uuids?count=3');
    expect(answer).toMatchObject({
      status: 200,
      body: expect.stringMatching(/^\{"uuids":\["[0-9a-f]{32}","[0-9a-f]{32}","[0-9a-f]{32}"\]\}\n$/),
      headers: {
        'cache-control': 'no-cache',
        pragma: 'no-cache',
        expires: 'Mon, 01 Jan 1990 00:00:00 GMT',
        etag: expect.stringMatching(/^"[0-9a-z]+"$/),
      },
    });
  });

  test('returns no more uuids than allowed', async () => {
    expect((await ask(core, 'GET /_uuids?count=1000')).status).toBe(200);
    expect(await askJson(core, 'GET /_uuids?count=1001')).toEqual([
      403,
      { error: 'forbidden', reason: 'count parameter too large' },
    ]);
  });
});

test('_dbs_info returns the info of many databases', async () => {
  const [status, answer] = await askJson(core, 'POST /_dbs_info', { body: '{"keys":["db","none","__proto__"]}' });
  expect(status).toBe(200);
  expect(answer).toMatchObject([
    { key: 'db', info: { db_name: 'db', doc_count: 0, disk_format_version: expect.any(Number) } },
    { key: 'none', error: 'not_found' },
    { key: '__proto__', error: 'not_found' },
  ]);
});

test('requests that need a content type are refused without it', async () => {
  const reason = 'Content-Type must be application/json';
  for (const path of ['', '/_bulk_docs', '/_compact', '/_view_cleanup', '/_ensure_full_commit', '/_purge']) {
    const headers = { 'content-type': 'text/plain' };
    const asked = { body: '{"docs":[]}', headers };
    expect(await askJson(core, `POST /db${path}`, asked), path).toEqual([415, { error: 'bad_content_type', reason }]);
  }
  for (const path of ['/_revs_diff', '/_missing_revs', '/_all_docs']) {
    const headers = { 'content-type': 'text/plain' };
    expect((await ask(core, `POST /db${path}`, { body: '{}', headers })).status, path).toBe(200);
  }
});

test('_purge returns what was purged', async () => {
  const [, written] = await askJson(core, 'PUT /db/doc', { body: '{}' });
  const rev = pick(written, 'rev');
  const body = JSON.stringify({ doc: [rev, '9-z'], none: ['1-a'], _odd: ['1-a'] });
  expect(await askJson(core, 'POST /db/_purge', { body })).toEqual([200, { purge_seq: 1, purged: { doc: [rev] } }]);
  expect((await ask(core, 'GET /db/doc')).status).toBe(404);
});
