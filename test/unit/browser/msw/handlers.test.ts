import { setupServer } from 'msw/node';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { handlers, type SetteeHandlers } from '../../../../src/browser/msw/index.ts';

const base = 'http://app.test/db/';
const server = setupServer();
let current: SetteeHandlers;

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }));
beforeEach(() => {
  current = handlers({ base });
  server.resetHandlers(...current);
});
afterAll(() => server.close());

async function ask(path: string, init?: RequestInit): Promise<{ status: number; json: unknown }> {
  const response = await fetch(`${base}${path}`, init);
  return { status: response.status, json: await response.json() };
}

const put = (path: string, json?: unknown) =>
  ask(path, { method: 'PUT', ...(json === undefined ? {} : { body: JSON.stringify(json) }) });

/** Documents of 2 KB each: more than any buffer on the way holds. */
async function fill(count: number): Promise<void> {
  await put('big');
  const docs = Array.from({ length: count }, (_, number) => ({ _id: `${number}`, text: 'x'.repeat(2_000) }));
  const headers = { 'content-type': 'application/json' };
  await ask('big/_bulk_docs', { method: 'POST', headers, body: JSON.stringify({ docs }) });
}

describe('a session', () => {
  const whoIs = async (init?: RequestInit) => Object((await ask('_session', init)).json).userCtx;
  const logIn = () =>
    ask('_session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ana', password: 'secret' }),
    });

  beforeEach(async () => {
    await put('_users');
    await put('_users/org.couchdb.user:ana', { type: 'user', name: 'ana', roles: ['editor'], password: 'secret' });
  });

  test('is kept as in a page, until it is ended or everything is reset', async () => {
    expect(await logIn()).toMatchObject({ status: 200, json: { name: 'ana', roles: ['editor'] } });
    expect(await whoIs()).toEqual({ name: 'ana', roles: ['editor'] });
    expect(await whoIs({ credentials: 'omit' })).toEqual({ name: null, roles: ['_admin'] });
    await ask('_session', { method: 'DELETE' });
    expect(await whoIs()).toEqual({ name: null, roles: ['_admin'] });
    await logIn();
    await current.reset();
    expect(await whoIs()).toEqual({ name: null, roles: ['_admin'] });
  });

  test('is visible to functions of documents', async () => {
    await put('notes');
    const validate = 'function (doc, old, user) { throw({forbidden: user.name + " of " + user.db}); }';
    await put('notes/_design/d', { validate_doc_update: validate });
    await logIn();
    expect(await put('notes/first', {})).toMatchObject({ status: 403, json: { reason: 'ana of notes' } });
  });

  test('of a client that sends its own cookies is left to that client', async () => {
    const { headers } = await fetch(`${base}_session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ana', password: 'secret' }),
      credentials: 'omit',
    });
    const [cookie = ''] = headers.get('set-cookie')?.split(';') ?? [];
    expect(await whoIs()).toEqual({ name: null, roles: ['_admin'] });
    expect(await whoIs({ headers: { cookie } })).toEqual({ name: 'ana', roles: ['editor'] });
    await logIn();
    expect(await whoIs({ headers: { cookie: 'other=1' } })).toEqual({ name: null, roles: ['_admin'] });
  });
});

describe('the handlers', () => {
  test("send a function's response without a body if the status permits none", async () => {
    await put('notes');
    await put('notes/_design/by', { shows: { reset: 'function () { return { code: 205, body: "dropped" }; }' } });
    const response = await fetch(`${base}notes/_design/by/_show/reset`);
    expect([response.status, await response.text()]).toEqual([205, '']);
  });

  test('run functions of design documents on Node without configuration', async () => {
    await put('notes');
    await put('notes/_design/by', { views: { text: { map: 'function (doc) { emit(doc.text); }' } } });
    await put('notes/first', { text: 'hello' });
    expect(await ask('notes/_design/by/_view/text')).toMatchObject({ status: 200, json: { rows: [{ key: 'hello' }] } });
  });

  test('say what they need where there is no Node', async () => {
    vi.stubGlobal('process', undefined);
    server.resetHandlers(...handlers({ base }));
    vi.unstubAllGlobals();
    await put('notes');
    await put('notes/_design/by', { views: { text: { map: 'function (doc) { emit(doc.text); }' } } });
    const reason = expect.stringContaining('with settee/msw, pass loadWasm to the handlers');
    expect(await ask('notes/_design/by/_view/text')).toMatchObject({ status: 501, json: { reason } });
  });

  test('answer as the database does, below the base', async () => {
    expect(await put('notes')).toEqual({ status: 201, json: { ok: true } });
    expect(await put('notes/first', { text: 'hello' })).toMatchObject({ status: 201, json: { ok: true, id: 'first' } });
    expect(await ask('notes/first')).toMatchObject({ status: 200, json: { _id: 'first', text: 'hello' } });
    expect(await put('notes/first', { text: 'again' })).toEqual({
      status: 409,
      json: { error: 'conflict', reason: 'Document update conflict.' },
    });
    expect(await ask('nowhere/first')).toEqual({
      status: 404,
      json: { error: 'not_found', reason: 'no_db_file' },
    });
  });

  test('name addresses below the base', async () => {
    const response = await fetch(`${base}notes`, { method: 'PUT' });
    expect(response.headers.get('location')).toBe('http://app.test/db/notes');
  });

  test('take addresses whose escapes are broken', async () => {
    expect((await ask('notes/%zz')).status).toBe(400);
  });

  test('leave all other requests to other handlers', async () => {
    await expect(fetch('http://app.test/elsewhere')).rejects.toThrow();
  });

  test('answer HEAD without a body', async () => {
    await put('notes');
    const response = await fetch(`${base}notes`, { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect((await response.arrayBuffer()).byteLength).toBe(0);
  });

  test('answer COPY', async () => {
    await put('notes');
    await put('notes/first', {});
    const copy = await ask('notes/first', { method: 'COPY', headers: { destination: 'second' } });
    expect(copy).toMatchObject({ status: 201, json: { id: 'second' } });
  });

  test('accept settings, and report wrong ones at the first request', async () => {
    server.resetHandlers(...handlers({ base, settings: { uuids: { max_count: '2' } } }));
    expect((await ask('_uuids?count=2')).status).toBe(200);
    expect((await ask('_uuids?count=3')).status).not.toBe(200);
    server.resetHandlers(...handlers({ base, settings: { uuids: { max_count: 'many' } } }));
    const response = await fetch(`${base}_uuids`);
    expect(response.status).toBe(500);
    expect(await response.text()).toContain('Setting uuids/max_count is \\"many\\"');
  });
});

describe('each call', () => {
  test('of handlers() makes its own empty database', async () => {
    await put('notes');
    server.resetHandlers(...handlers({ base }));
    expect((await ask('_all_dbs')).json).toEqual([]);
    server.resetHandlers(...current);
    expect((await ask('_all_dbs')).json).toEqual(['notes']);
  });
});

describe('reset', () => {
  test('empties the database', async () => {
    await put('notes');
    await current.reset();
    expect((await ask('_all_dbs')).json).toEqual([]);
  });

  test('does nothing before the first request, nor when repeated', async () => {
    await current.reset();
    await put('notes');
    await Promise.all([current.reset(), current.reset()]);
    expect((await ask('notes')).status).toBe(404);
  });
});

describe('a long body', () => {
  test('arrives in pieces, complete', async () => {
    await fill(2_000);
    const response = await fetch(`${base}big/_all_docs?include_docs=true`);
    const sizes: number[] = [];
    for await (const chunk of must(response.body, 'body')) sizes.push(chunk.byteLength);
    expect(sizes.length).toBeGreaterThan(4);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(4_000_000);
  });

  test('fails with the reason of an abort', async () => {
    await fill(2_000);
    const aborter = new AbortController();
    const response = await fetch(`${base}big/_all_docs?include_docs=true`, { signal: aborter.signal });
    const reader = must(response.body, 'body').getReader();
    await reader.read();
    const reason = new Error('read enough');
    aborter.abort(reason);
    const readOn = async () => {
      while (!(await reader.read()).done);
    };
    await expect(readOn()).rejects.toBe(reason);
  });

  test('can be abandoned without blocking other requests or reset', async () => {
    await fill(2_000);
    const response = await fetch(`${base}big/_all_docs?include_docs=true`);
    // MSW keeps a copy of its own, so that the promise of `cancel` would not resolve.
    void response.body?.cancel();
    expect((await ask('big')).status).toBe(200);
    await current.reset();
    expect((await ask('big')).status).toBe(404);
  });
});
