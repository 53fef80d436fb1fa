import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemRandom } from '../../../src/base/shared/clock.ts';
import type { Settings } from '../../../src/base/system/contract.ts';
import { type Core, createCore } from '../../../src/core/core.ts';
import { deferredAtHand } from '../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../src/storage/memory-page-store.ts';
import { ask, askJson, clock, openCore, pick } from '../http/support.ts';

const QUICK = { iterations: '10', min_iterations: '1' };
let core: Core;

afterEach(async () => {
  vi.restoreAllMocks();
  await core.close();
});

async function open(settings: Settings = {}): Promise<void> {
  core = await openCore({ svc_httpd_auth: QUICK, ...settings });
}

const basic = (name: string, password: string) => ({ authorization: `Basic ${btoa(`${name}:${password}`)}` });
const ROOT = basic('root', 'secret');

async function addUser(name: string, members: object = { password: name }): Promise<void> {
  const body = JSON.stringify({ type: 'user', name, roles: [], ...members });
  const { status } = await ask(core, `PUT /_users/org.couchdb.user:${name}`, { headers: ROOT, body });
  expect(status).toBe(201);
}

async function sessionOf(name: string): Promise<string> {
  const { headers } = await ask(core, 'POST /_session', { body: JSON.stringify({ name, password: name }) });
  return headers['set-cookie']?.split(';')[0] ?? '';
}

describe('server admins', () => {
  test('have no plain password after the start or a change', async () => {
    await open({ admins: { root: 'secret', none: '' } });
    expect(await askJson(core, 'GET /_active_tasks', { headers: ROOT })).toEqual([200, []]);
    expect(core.config.section('admins')).toEqual({
      none: '',
      root: expect.stringMatching(/^-pbkdf2-[\da-f]{40},[\da-f]{32},10$/),
    });
    await core.config.set('admins', 'ada', 'lovelace');
    const [status] = await askJson(core, 'GET /_active_tasks', { headers: basic('ada', 'lovelace') });
    expect(status).toBe(200);
    expect(core.config.get('admins', 'ada')).toMatch(/^-pbkdf2-/);
    expect((await ask(core, 'GET /', { headers: basic('none', '') })).status).toBe(401);
  });

  test('end the state in which every client is an admin, and removing the last one restores it', async () => {
    await open();
    expect((await ask(core, 'PUT /db')).status).toBe(201);
    await core.config.set('admins', 'root', 'secret');
    expect((await ask(core, 'PUT /other')).status).toBe(401);
    expect((await ask(core, 'PUT /other', { headers: ROOT })).status).toBe(201);
    await core.config.delete('admins', 'root');
    expect((await ask(core, 'DELETE /db')).status).toBe(200);
  });

  test('with an old hash get a new one when they log in', async () => {
    // printf 'secretsalt' | sha1sum
    await open({ admins: { root: '-hashed-4e6ee5e9b4ad8bf4d6b7a2ff0c0c2a3ac1f2f6a1,salt' } });
    const [before] = await askJson(core, 'GET /_active_tasks', { headers: ROOT });
    expect(before).toBe(401);
    const hash = [...new Uint8Array(await crypto.subtle.digest('SHA-1', new TextEncoder().encode('secretsalt')))];
    const text = `-hashed-${hash.map((byte) => byte.toString(16).padStart(2, '0')).join('')},salt`;
    await core.config.set('admins', 'root', text, { persist: false });
    expect((await ask(core, 'GET /_active_tasks', { headers: ROOT })).status).toBe(200);
    expect(core.config.get('admins', 'root')).toMatch(/^-pbkdf2-/);
  });
});

describe('without credentials', () => {
  test("a request is answered in the same turn, and the accounts code isn't loaded", async () => {
    const load = vi.fn(deferredAtHand());
    core = await createCore({ storage: createMemoryPageStore(), clock, random: systemRandom, deferred: load });
    await ask(core, 'PUT /db');
    await ask(core, 'PUT /db/doc', { body: '{}' });
    load.mockClear();
    for (const url of ['/', '/db/doc']) {
      const answer = core.handle({ method: 'GET', url, headers: { accept: '*/*' }, body: null });
      expect(answer).not.toBeInstanceOf(Promise);
    }
    expect(load).not.toHaveBeenCalled();
  });

  test('a request is answered in the same turn also if there is an admin', async () => {
    await open({ admins: { root: 'secret' } });
    await ask(core, 'PUT /db', { headers: ROOT });
    await ask(core, 'PUT /db/doc', { headers: ROOT, body: '{}' });
    const answer = core.handle({ method: 'GET', url: '/db/doc', headers: {}, body: null });
    expect(answer).toMatchObject({ status: 200 });
  });
});

test('a session that was seen recently is recognized in the same turn', async () => {
  await open({ admins: { root: 'secret' } });
  await ask(core, 'PUT /_users', { headers: ROOT });
  await ask(core, 'PUT /db', { headers: ROOT });
  await ask(core, 'PUT /db/doc', { headers: ROOT, body: '{}' });
  await addUser('ana');
  const cookie = await sessionOf('ana');
  await ask(core, 'GET /db/doc', { headers: { cookie } });
  const answer = core.handle({ method: 'GET', url: '/db/doc', headers: { cookie }, body: null });
  expect(answer).toMatchObject({ status: 200 });
});

test('a remembered password counts as a cache hit, and any other request with a password as a miss', async () => {
  await open({ admins: { root: 'secret' } });
  for (const password of ['secret', 'secret', 'wrong', 'secret', 'wrong']) {
    await ask(core, 'GET /', { headers: basic('root', password) });
  }
  const count = async (id: string) =>
    pick(await askJson(core, `GET /_stats/svc/${id}?flush=true`), 1, 'svc', id, 'current');
  // What is right is remembered; what is wrong never is.
  expect(await count('auth_cache_hits')).toBe(2);
  expect(await count('auth_cache_misses')).toBe(3);
});

describe('a password that was correct recently', () => {
  const asks = (headers: Record<string, string>) => core.handle({ method: 'GET', url: '/_stats', headers, body: null });

  beforeEach(async () => {
    await open({ admins: { root: 'secret' } });
    await ask(core, 'GET /', { headers: ROOT });
  });

  test('is recognized in the same turn', () => {
    expect(asks(ROOT)).toMatchObject({ status: 200 });
    expect(asks(basic('root', 'secret '))).toBeInstanceOf(Promise);
  });

  test('is checked again after another hash was set with the same salt', async () => {
    const text = core.config.get('admins', 'root') ?? '';
    const other = text.replace(/^-pbkdf2-[\da-f]{40}/, `-pbkdf2-${'0'.repeat(40)}`);
    await core.config.set('admins', 'root', other, { persist: false });
    expect((await asks(ROOT)).status).toBe(401);
    await core.config.set('admins', 'root', text, { persist: false });
    expect((await asks(ROOT)).status).toBe(200);
  });

  test('is recognized while others guess, also after a setting of accounts changed', async () => {
    for (let n = 0; n < 60; n++) await ask(core, 'GET /', { headers: basic(n % 2 ? 'root' : `name ${n}`, 'wrong') });
    expect((await asks(basic('root', 'another'))).status).toBe(429);
    await core.config.set('svc_httpd_auth', 'timeout', '900', { persist: false });
    await core.config.set('svc_httpd_auth', 'iterations', '20', { persist: false });
    expect(asks(ROOT)).toMatchObject({ status: 200 });
    const body = JSON.stringify({ name: 'root', password: 'secret' });
    expect((await ask(core, 'POST /_session', { body })).status).toBe(200);
  });

  test('is checked again if the settings no longer permit its hash', async () => {
    await core.config.set('svc_httpd_auth', 'iterations', '9', { persist: false });
    await core.config.set('svc_httpd_auth', 'max_iterations', '9', { persist: false });
    await core.config.set('svc_httpd_auth', 'max_verified_iterations', '9', { persist: false });
    expect((await asks(ROOT)).status).toBe(401);
    await core.config.set('svc_httpd_auth', 'max_verified_iterations', '10', { persist: false });
    expect((await asks(ROOT)).status).toBe(200);
  });
});

/** What a log-in costs is its iterations; that they are the same is shown by counting them, whatever the machine is doing. */
test('a failed log-in costs the same whether the name exists', async () => {
  await open({ admins: { root: 'secret' } });
  await ask(core, 'PUT /_users', { headers: ROOT });
  await addUser('ana');
  await addUser('nobody-by-password', {});
  // As old versions made them: one round of SHA-1.
  await addUser('old', { password_sha: '0'.repeat(40), salt: 'salt' });
  const derive = vi.spyOn(crypto.subtle, 'deriveBits');
  const costs = new Map<string, number>();
  for (const name of ['ana', 'root', 'nobody-by-password', 'old', 'absent', '_', 'x'.repeat(5_000), '']) {
    derive.mockClear();
    const { status } = await ask(core, 'GET /', { headers: basic(name, 'wrong') });
    expect(status).toBe(401);
    const iterations = derive.mock.calls.map(([algorithm]) => Number(pick(algorithm, 'iterations')));
    costs.set(
      name.slice(0, 20),
      iterations.reduce((sum, count) => sum + count, 0),
    );
  }
  expect([...new Set(costs.values())]).toEqual([10]);
});

test('the first failed log-in after a start costs the same, even if accounts have hashes of other settings', async () => {
  const medium = new MemoryMedium();
  const start = (config: Settings) => {
    const storage = createMemoryPageStore({ medium });
    return createCore({ storage, clock, random: systemRandom, config, deferred: deferredAtHand() });
  };
  // printf secret | PBKDF2 of no matter what: nobody has to get in by it.
  core = await start({ admins: { root: 'secret' }, svc_httpd_auth: { ...QUICK, iterations: '70' } });
  await ask(core, 'PUT /_users', { headers: ROOT });
  await addUser('ana');
  const admins = { root: core.config.get('admins', 'root') ?? '', old: `-pbkdf2-${'0'.repeat(40)},salt,30` };
  await core.close();
  core = await start({ admins, svc_httpd_auth: QUICK });
  for (const name of ['ana', 'absent', 'old', 'root']) {
    const derive = vi.spyOn(crypto.subtle, 'deriveBits');
    expect((await ask(core, 'GET /', { headers: basic(name, 'wrong') })).status).toBe(401);
    const iterations = derive.mock.calls.map(([algorithm]) => Number(pick(algorithm, 'iterations')));
    expect([name, iterations.reduce((sum, count) => sum + count, 0)]).toEqual([name, 70]);
    derive.mockRestore();
    // Each of them as the first one.
    await core.close();
    core = await start({ admins, svc_httpd_auth: QUICK });
  }
});

test("a hundred guesses at once cause few checks, and don't delay other users", async () => {
  await open({ admins: { root: 'secret' } });
  await ask(core, 'PUT /_users', { headers: ROOT });
  await addUser('ana');
  const derive = vi.spyOn(crypto.subtle, 'deriveBits');
  const guesses = Array.from({ length: 100 }, (_, n) => ask(core, 'GET /', { headers: basic('ana', `guess ${n}`) }));
  expect((await ask(core, 'GET /', { headers: ROOT })).status).toBe(200);
  const statuses = (await Promise.all(guesses)).map(({ status }) => status);
  expect(statuses.filter((status) => status === 401)).toHaveLength(5);
  expect(statuses.filter((status) => status === 429)).toHaveLength(95);
  expect(derive).toHaveBeenCalledTimes(5);
});

test('guesses of a code from many addresses soon make all codes of that user wait, but without a code nobody waits', async () => {
  await open({ admins: { root: 'secret' } });
  await ask(core, 'PUT /_users', { headers: ROOT });
  const totp = { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' };
  await addUser('ana', { password: 'ana', totp });
  await addUser('bob', { password: 'bob', totp });
  // Of the moment at which the clock stands still.
  const token = '943767';
  const logIn = async (name: string, members: object, address: string) => {
    const body = JSON.stringify({ name, password: name, ...members });
    const headers = { 'content-type': 'application/json' };
    return (await core.handle({ method: 'POST', url: '/_session', headers, body, peer: address })).status;
  };
  for (let n = 0; n < 20; n++) {
    expect(await logIn('ana', { token: 'wrong' }, `10.0.0.${n}`)).toBe(401);
    expect(await logIn('bob', {}, `10.0.0.${n}`)).toBe(401);
    expect(await logIn('bob', { token: 'wrong', password: 'x' }, `10.0.0.${n}`)).toBe(401);
  }
  expect(await logIn('ana', { token }, '10.0.1.1')).toBe(401);
  expect(await logIn('bob', { token }, '10.0.1.1')).toBe(200);
});

test("a client can't set the user of a request", async () => {
  await open({ admins: { root: 'secret' } });
  const user = JSON.stringify({ name: 'root', roles: ['_admin'] });
  const headers = { user, 'x-user': user, 'x-auth-svc-username': 'root', 'x-auth-svc-roles': '_admin' };
  expect((await ask(core, 'GET /_active_tasks', { headers })).status).toBe(401);
});
