import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '../../../../src/core/core.ts';
import { ask, askJson, openCore, pick, textOf } from '../support.ts';

let core: Core;

beforeEach(async () => {
  await core?.close();
  core = await openCore();
  await ask(core, 'PUT /db');
});

afterAll(() => core.close());

async function put(path: string, body: string): Promise<string> {
  const [status, answer] = await askJson(core, `PUT /db/${path}`, { body });
  expect(status).toBe(201);
  return String(pick(answer, 'rev'));
}

/** Revisions 1-a, and above it 2-b (deleted), 2-c and 3-d. */
async function putTree(): Promise<void> {
  const docs = [
    { _id: 'doc', _rev: '1-a', n: 1 },
    { _id: 'doc', _rev: '2-b', _deleted: true, _revisions: { start: 2, ids: ['b', 'a'] } },
    { _id: 'doc', _rev: '2-c', n: 2, _revisions: { start: 2, ids: ['c', 'a'] } },
    { _id: 'doc', _rev: '3-d', n: 3, _revisions: { start: 3, ids: ['d', 'x', 'a'] } },
  ];
  const body = JSON.stringify({ docs, new_edits: false });
  expect(await askJson(core, 'POST /db/_bulk_docs', { body })).toEqual([201, []]);
}

describe('reading a document', () => {
  beforeEach(putTree);

  test('returns the winner, with its revision as ETag', async () => {
    const answer = await ask(core, 'GET /db/doc');
    expect(answer).toMatchObject({
      status: 200,
      body: '{"_id":"doc","_rev":"3-d","n":3}\n',
      headers: {
        etag: '"3-d"',
        'content-type': 'application/json',
        'cache-control': 'must-revalidate',
        vary: 'Accept',
      },
    });
  });

  test('returns any revision, also tombstones', async () => {
    expect(await askJson(core, 'GET /db/doc?rev=1-a')).toEqual([200, { _id: 'doc', _rev: '1-a', n: 1 }]);
    expect(await askJson(core, 'GET /db/doc?rev=2-b')).toEqual([200, { _id: 'doc', _rev: '2-b', _deleted: true }]);
    expect((await ask(core, 'GET /db/doc?rev=2-x')).status).toBe(404);
    expect((await ask(core, 'GET /db/doc?rev=9-z')).status).toBe(404);
    expect(await askJson(core, 'GET /db/doc?rev=z')).toEqual([
      400,
      { error: 'bad_request', reason: 'Invalid rev format' },
    ]);
  });

  test('returns requested metadata, and then no ETag', async () => {
    const answer = await ask(core, 'GET /db/doc?revs=true&meta=true&local_seq=true');
    expect(JSON.parse(await textOf(answer.body))).toEqual({
      _id: 'doc',
      _rev: '3-d',
      _revisions: { start: 3, ids: ['d', 'x', 'a'] },
      _revs_info: [
        { rev: '3-d', status: 'available' },
        { rev: '2-x', status: 'missing' },
        { rev: '1-a', status: 'available' },
      ],
      _local_seq: 4,
      _conflicts: ['2-c'],
      _deleted_conflicts: ['2-b'],
      n: 3,
    });
    expect(answer.headers).not.toHaveProperty('etag');
  });

  test('switches flags on with the literal true only, and leaves out empty metadata', async () => {
    await put('single', '{}');
    const answer = await ask(core, 'GET /db/single?conflicts=true&deleted_conflicts=true&revs=TRUE&revs_info=1');
    expect(await textOf(answer.body)).toMatch(/^\{"_id":"single","_rev":"1-[0-9a-f]{32}"\}\n$/);
    expect(answer.headers).toHaveProperty('etag');
  });

  test('returns 304 if the client has it already', async () => {
    const headers = { 'if-none-match': '"2-c", "3-d"' };
    expect(await ask(core, 'GET /db/doc', { headers })).toMatchObject({
      status: 304,
      body: null,
      headers: { etag: '"3-d"' },
    });
    expect((await ask(core, 'GET /db/doc?revs=true', { headers })).status).toBe(304);
    expect((await ask(core, 'GET /db/doc?local_seq=true', { headers })).status).toBe(200);
  });
});

describe('writing a document', () => {
  test('returns revision, ETag and Location', async () => {
    const answer = await ask(core, 'PUT /db/a%2Fb', { body: '{"n":1}', headers: { host: 'h' } });
    const rev = String(pick(JSON.parse(await textOf(answer.body)), 'rev'));
    expect(rev).toMatch(/^1-[0-9a-f]{32}$/);
    expect(answer).toMatchObject({
      status: 201,
      body: `{"ok":true,"id":"a/b","rev":"${rev}"}\n`,
      headers: { etag: `"${rev}"`, location: 'http://h/db/a%2Fb' },
    });
  });

  test('takes the revision from body, query or If-Match, and refuses two that differ', async () => {
    const first = await put('doc', '{}');
    const second = await put('doc', `{"_rev":"${first}"}`);
    const third = await put(`doc?rev=${second}`, '{"n":3}');
    const headers = { 'if-match': `"${third}"` };
    expect((await ask(core, 'PUT /db/doc', { body: '{"n":4}', headers })).status).toBe(201);
    const inBody = { body: `{"_rev":"${first}"}` };
    expect(await askJson(core, 'PUT /db/doc?rev=2-x', inBody)).toEqual([
      400,
      { error: 'bad_request', reason: 'Document rev from request body and query string have different values' },
    ]);
    for (const what of ['PUT /db/doc', `DELETE /db/doc?rev=${first}`]) {
      const asked = what.startsWith('PUT') ? inBody : {};
      expect(await askJson(core, what, { ...asked, headers: { 'if-match': '"2-x"' } })).toEqual([
        400,
        { error: 'bad_request', reason: 'Document rev and etag have different values' },
      ]);
    }
  });

  test('deletes by query or header, and 404 has precedence over 409', async () => {
    expect(await askJson(core, 'DELETE /db/doc')).toEqual([404, { error: 'not_found', reason: 'missing' }]);
    const rev = await put('doc', '{}');
    expect((await ask(core, 'DELETE /db/doc')).status).toBe(409);
    expect((await ask(core, 'DELETE /db/doc?rev=1-0')).status).toBe(409);
    const answer = await ask(core, 'DELETE /db/doc', { headers: { 'if-match': rev } });
    expect(answer.status).toBe(200);
    expect(answer.headers).toHaveProperty('etag');
    expect(answer.headers).not.toHaveProperty('location');
    expect(await askJson(core, `DELETE /db/doc?rev=${rev}`)).toEqual([404, { error: 'not_found', reason: 'deleted' }]);
  });

  test('with batch=ok happens later, and by the next full commit', async () => {
    const answer = await ask(core, 'PUT /db/doc?batch=ok', { body: '{}', headers: { host: 'h' } });
    expect(answer).toMatchObject({ status: 202, body: '{"ok":true,"id":"doc"}\n' });
    expect(answer.headers).toMatchObject({ location: 'http://h/db/doc' });
    expect(answer.headers).not.toHaveProperty('etag');
    expect((await ask(core, 'POST /db/_ensure_full_commit')).status).toBe(201);
    expect((await ask(core, 'GET /db/doc')).status).toBe(200);
  });

  test('as a deletion with batch=ok returns no Location', async () => {
    const rev = await put('doc', '{}');
    const answer = await ask(core, `DELETE /db/doc?rev=${rev}&batch=ok`);
    expect(answer.status).toBe(202);
    expect(answer.headers).not.toHaveProperty('location');
  });

  test('with new_edits=false needs a revision', async () => {
    const reason = 'Document must have a _rev when new_edits is false';
    const refused = [400, { error: 'bad_request', reason }];
    expect(await askJson(core, 'PUT /db/doc?new_edits=false', { body: '{}' })).toEqual(refused);
    expect(await askJson(core, 'POST /db?new_edits=false', { body: '{"_id":"doc"}' })).toEqual(refused);
    const body = '{"docs":[{"_id":"a","_rev":"1-a"},{"_id":"b"}],"new_edits":false}';
    expect(await askJson(core, 'POST /db/_bulk_docs', { body })).toEqual(refused);
    expect((await ask(core, 'GET /db/a')).status).toBe(404);
    expect(await askJson(core, 'PUT /db/doc?new_edits=false', { body: '{"_rev":"4-x"}' })).toEqual([
      201,
      { ok: true, id: 'doc', rev: '4-x' },
    ]);
  });

  test('refuses a local revision for a document that is not local', async () => {
    const refused = [400, { error: 'bad_request', reason: 'Invalid rev format' }];
    expect(await askJson(core, 'PUT /db/doc', { body: '{"_rev":"0-1"}' })).toEqual(refused);
    expect(await askJson(core, 'PUT /db/doc?new_edits=false', { body: '{"_rev":"0-1"}' })).toEqual(refused);
  });
});

describe('copying a document', () => {
  test('works from and to ordinary and local documents', async () => {
    const rev = await put('a', '{"n":1}');
    const copy = (from: string, destination: string) =>
      ask(core, `COPY /db/${from}`, { headers: { destination, host: 'h' } });
    expect(await copy('a', 'b%20c')).toMatchObject({ status: 201, headers: { location: 'http://h/db/b%20c' } });
    expect((await copy('a', '_local/a')).status).toBe(201);
    expect((await copy('_local/a', 'from-local')).status).toBe(201);
    expect((await copy('_local/a?rev=0-1', 'from-revision')).status).toBe(201);
    expect(await copy('_local/a?rev=0-2', 'nowhere')).toMatchObject({ status: 404 });
    for (const id of ['b%20c', '_local/a', 'from-local']) {
      expect(await askJson(core, `GET /db/${id}`)).toMatchObject([200, { n: 1 }]);
    }
    expect((await copy('a', 'b%20c')).status).toBe(409);
    await put('a', `{"_rev":"${rev}","n":2}`);
    expect((await copy(`a?rev=${rev}`, 'old')).status).toBe(201);
    expect(await askJson(core, 'GET /db/old')).toMatchObject([200, { n: 1 }]);
    expect(await askJson(core, 'COPY /db/absent', { headers: { destination: 'x' } })).toMatchObject([404, {}]);
  });
});

describe('local documents', () => {
  test('count their revisions, and are gone when deleted', async () => {
    expect(await put('_local/x', '{"n":1}')).toBe('0-1');
    expect(await put('_local/x?rev=0-1', '{"n":2}')).toBe('0-2');
    expect((await ask(core, 'PUT /db/_local/x', { body: '{"_rev":"0-1"}' })).status).toBe(409);
    expect((await ask(core, 'PUT /db/_local/x', { body: '{"_rev":"1-a"}' })).status).toBe(409);
    expect(await ask(core, 'GET /db/_local/x')).toMatchObject({ headers: { etag: '"0-2"' } });
    expect((await ask(core, 'GET /db/_local/x', { headers: { 'if-none-match': '"0-2"' } })).status).toBe(304);
    expect((await ask(core, 'GET /db/_local/x?rev=0-1')).status).toBe(404);
    expect(await askJson(core, 'DELETE /db/_local/x?rev=0-2')).toEqual([200, { ok: true, id: '_local/x', rev: '0-0' }]);
    expect((await ask(core, 'GET /db/_local/x')).status).toBe(404);
    expect((await ask(core, 'DELETE /db/_local/x?rev=0-2')).status).toBe(404);
  });

  test('can be in a bulk write with others, in either mode', async () => {
    const docs = '[{"_id":"a"},{"_id":"_local/x","n":1},{"_id":"_local/x","n":2}]';
    const [status, rows] = await askJson(core, 'POST /db/_bulk_docs', { body: `{"docs":${docs}}` });
    expect(status).toBe(201);
    expect(rows).toMatchObject([
      { ok: true, id: 'a' },
      { ok: true, id: '_local/x', rev: '0-1' },
      { id: '_local/x', error: 'conflict' },
    ]);
    const replicated = '{"docs":[{"_id":"_local/x","n":3}],"new_edits":false}';
    expect(await askJson(core, 'POST /db/_bulk_docs', { body: replicated })).toEqual([201, []]);
    expect(await askJson(core, 'GET /db/_local/x')).toEqual([200, { _id: '_local/x', _rev: '0-2', n: 3 }]);
  });
});

describe('documents that no ordinary client sends', () => {
  test('can be deeply nested', async () => {
    const deep = '['.repeat(998) + ']'.repeat(998);
    await put('deep', `{"deep":${deep}}`);
    expect(await ask(core, 'GET /db/deep')).toMatchObject({ body: expect.stringContaining(`"deep":${deep}}`) });
    expect((await ask(core, 'PUT /db/_security', { body: `{"deep":${deep}}` })).status).toBe(200);
    expect(await ask(core, 'GET /db/_security')).toMatchObject({ body: `{"deep":${deep}}\n` });
    for (const [what, body] of [
      ['POST /db/_all_docs', `{"keys":[${deep}]}`],
      ['POST /db/_revs_diff', `{"a":[${deep}]}`],
      ['POST /db/_bulk_get', `{"docs":[{"id":${deep}}]}`],
      ['POST /_dbs_info', `{"keys":[${deep}]}`],
      ['PUT /db/_revs_limit', deep],
    ] as const) {
      expect((await ask(core, what, { body })).status, what).toBeLessThan(500);
    }
  });

  test('are refused if they are nested more than 1000 levels deep', async () => {
    const deep = '['.repeat(1_001);
    const reason = 'The JSON has arrays and objects in more than 1000 levels; send what is nested deeper as a string.';
    for (const what of [
      'PUT /db/deep',
      'PUT /db/_local/deep',
      'PUT /db/_security',
      'POST /db',
      'POST /db/_all_docs',
      'POST /db/_all_docs/queries',
      'POST /db/_bulk_docs',
      'POST /db/_bulk_get',
      'POST /db/_find',
      'POST /db/_missing_revs',
      'POST /db/_purge',
      'POST /db/_revs_diff',
    ]) {
      const headers = { 'content-type': 'application/json' };
      const answer = await ask(core, what, { body: `{"docs":[{"a":${deep}`, headers });
      expect([answer.status, answer.body], what).toEqual([
        400,
        `${JSON.stringify({ error: 'bad_request', reason })}\n`,
      ]);
    }
  });

  test('can have names of built-in properties of JavaScript as ids', async () => {
    await put('constructor', '{"n":1}');
    expect(await askJson(core, 'GET /db/constructor')).toMatchObject([200, { n: 1 }]);
    const body = '{"__proto__":["1-a"],"constructor":["1-a"],"toString":["1-a"]}';
    const { body: text } = await ask(core, 'POST /db/_revs_diff', { body });
    expect(text).toBe(
      '{"__proto__":{"missing":["1-a"]},"constructor":{"missing":["1-a"]},"toString":{"missing":["1-a"]}}\n',
    );
  });
});
