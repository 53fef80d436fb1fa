import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import { ask, openCore, pick, textOf } from '../http/support.ts';

const ROOT = { authorization: `Basic ${btoa('root:secret')}` };
let core: Core;

beforeEach(async () => {
  core = await openCore({ svc_httpd_auth: { iterations: '10', min_iterations: '1' }, admins: { root: 'secret' } });
  await ask(core, 'PUT /_users', { headers: ROOT });
});

afterEach(async () => {
  vi.restoreAllMocks();
  await core.close();
});

const user = (name: string, members: object = {}) => ({
  type: 'user',
  name,
  roles: [],
  password: 'a password',
  ...members,
});

function signUp(name: string, members: object = {}, more: { headers?: Record<string, string>; peer?: string } = {}) {
  const headers = { accept: 'application/json', 'content-type': 'application/json', ...more.headers };
  const url = `/_users/org.couchdb.user:${name}`;
  const body = JSON.stringify(user(name, members));
  return core.handle({ method: 'PUT', url, headers, body, peer: more.peer });
}

describe('a refused sign-up computes no hash', () => {
  test.each([
    ['a role', 403, { roles: ['boss'] }],
    ['another name', 403, { name: 'eva' }],
    ['no user', 403, { type: 'guest' }],
    ['a wrong revision', 409, { _rev: '1-00000000000000000000000000000000' }],
  ])('%s', async (_what, status, members) => {
    const derive = vi.spyOn(crypto.subtle, 'deriveBits');
    expect((await signUp('ana', members)).status).toBe(status);
    expect(derive).not.toHaveBeenCalled();
    expect((await signUp('ana')).status).toBe(201);
    expect(derive).toHaveBeenCalledTimes(1);
  });

  test('with more data than an account may have, except from an admin', async () => {
    const derive = vi.spyOn(crypto.subtle, 'deriveBits');
    const parse = vi.spyOn(JSON, 'parse');
    const refused = await signUp('ana', { notes: ['x'.repeat(65_536)] });
    expect(refused.status).toBe(413);
    expect(JSON.parse(String(refused.body))).toEqual({
      error: 'too_large',
      reason: expect.stringContaining('may have at most 65536 characters, unless an admin writes it'),
    });
    expect(derive).not.toHaveBeenCalled();
    // The request's own JSON was read once; nobody read the document's text again.
    expect(parse.mock.calls.filter(([text]) => String(text).length > 65_536)).toHaveLength(0);
    expect((await signUp('ana', { notes: ['x'.repeat(65_536)] }, { headers: ROOT })).status).toBe(201);
    expect(derive).toHaveBeenCalledTimes(1);
  });

  test('with a name that is taken', async () => {
    await signUp('ana');
    const derive = vi.spyOn(crypto.subtle, 'deriveBits');
    expect((await signUp('ana')).status).toBe(409);
    expect(derive).not.toHaveBeenCalled();
  });

  test('that a validation function refuses, which never sees a plain password', async () => {
    const newDoc = { name: { $ne: 'bad' }, password: { $exists: false }, derived_key: { $exists: true } };
    const body = JSON.stringify({ language: 'query', validate_doc_update: { newDoc } });
    await ask(core, 'PUT /_users/_design/rules', { headers: ROOT, body });
    const derive = vi.spyOn(crypto.subtle, 'deriveBits');
    expect((await signUp('bad')).status).toBe(403);
    expect(derive).not.toHaveBeenCalled();
    expect((await signUp('good')).status).toBe(201);
  });

  test('as a row of a bulk write, in which other rows are written with their own hashes', async () => {
    const docs = [user('ana'), user('bob', { roles: ['boss'] }), user('eva')].map((one) => ({
      _id: `org.couchdb.user:${one.name}`,
      ...one,
    }));
    const derive = vi.spyOn(crypto.subtle, 'deriveBits');
    const { body } = await ask(core, 'POST /_users/_bulk_docs', { body: JSON.stringify({ docs }) });
    const rows: unknown = JSON.parse(await textOf(body));
    expect([pick(rows, 0, 'ok'), pick(rows, 1, 'error'), pick(rows, 2, 'ok')]).toEqual([true, 'forbidden', true]);
    expect(derive).toHaveBeenCalledTimes(2);
    derive.mockRestore();
    for (const name of ['ana', 'eva']) {
      const log = { body: JSON.stringify({ name, password: 'a password' }) };
      expect((await ask(core, 'POST /_session', log)).status).toBe(200);
    }
  });
});

describe('setting passwords', () => {
  test("is limited per address to fifty at once and then one per second, which doesn't affect other addresses and admins", async () => {
    const peer = '203.0.113.1';
    for (let n = 0; n < 50; n++) expect((await signUp(`user${n}`, {}, { peer })).status).toBe(201);
    let refused = await signUp('more0', {}, { peer });
    // On a busy machine the fifty take longer than a second, so that a few more may sign up.
    for (let n = 1; n < 500 && refused.status === 201; n++) refused = await signUp(`more${n}`, {}, { peer });
    expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    const { error, reason } = JSON.parse(await textOf(refused.body));
    expect([error, reason]).toEqual([
      'too_many_requests',
      'Too many accounts were created, or passwords set, from this address. Try again in 1 s.',
    ]);
    expect((await signUp('more', {}, { peer: '203.0.113.2' })).status).toBe(201);
    expect((await signUp('further', {}, { peer, headers: ROOT })).status).toBe(201);
    // What neither makes an account nor sets a password is not counted.
    const log = { body: JSON.stringify({ name: 'user7', password: 'a password' }) };
    const cookie = String((await ask(core, 'POST /_session', log)).headers['set-cookie']).split(';')[0] ?? '';
    const { body } = await ask(core, 'GET /_users/org.couchdb.user:user7', { headers: { cookie } });
    const changed = { ...JSON.parse(await textOf(body)), password: undefined, note: 'mine' };
    expect((await signUp('user7', changed, { peer, headers: { cookie } })).status).toBe(201);
  });

  test.each([
    [
      'with a hash of their own',
      { password: undefined, password_scheme: 'pbkdf2', derived_key: '0'.repeat(40), salt: 'salt', iterations: 10 },
    ],
    ['with a hash as old versions made them', { password: undefined, password_sha: '0'.repeat(40), salt: 'salt' }],
    ['without a password', { password: null }],
  ])('of accounts %s counts as well', async (_what, members) => {
    const peer = '203.0.113.1';
    for (let n = 0; n < 50; n++) expect((await signUp(`user${n}`, members, { peer })).status).toBe(201);
    expect((await signUp('more', members, { peer })).status).toBe(429);
    const docs = ['one', 'two'].map((name) => ({ _id: `org.couchdb.user:${name}`, ...user(name, members) }));
    const refused = await core.handle({
      method: 'POST',
      url: '/_users/_bulk_docs',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ docs }),
      peer,
    });
    const rows: unknown = JSON.parse(await textOf(refused.body));
    expect([pick(rows, 0, 'error'), pick(rows, 1, 'error')]).toEqual(['too_many_requests', 'too_many_requests']);
  });

  test("in requests refused for another reason doesn't count", async () => {
    const peer = '203.0.113.1';
    for (let n = 0; n < 100; n++) await signUp('ana', { roles: ['boss'] }, { peer });
    expect((await signUp('ana', {}, { peer })).status).toBe(201);
  });
});
