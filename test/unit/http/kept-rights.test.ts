/** What lasts ends with the rights by which it was begun (docs/http/accounts.md#rights-that-end): streamed answers and uploads. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ByteStream } from '../../../src/base/shared/message.ts';
import type { Core } from '../../../src/core/core.ts';
import { isStream } from '../../../src/http/request/bodies.ts';
import { ask, openCore, textOf } from './support.ts';

const basic = (name: string) => ({ authorization: `Basic ${btoa(`${name}:${name}`)}` });
const ROOT = basic('root');
const TIM = basic('tim');
const TIMS = '/_users/org.couchdb.user:tim';
const BODY = 'x'.repeat(50_000);

let core: Core;

async function must(what: string, json: unknown, headers = ROOT): Promise<unknown> {
  const { status, body } = await ask(core, what, { headers, body: json === null ? null : JSON.stringify(json) });
  const text = await textOf(body);
  expect(status, `${what}: ${text}`).toBeLessThan(300);
  return JSON.parse(text);
}

/** Takes tim's role away, by which he is in the database. */
async function takeRole(): Promise<void> {
  const { json } = { json: await must(`GET ${TIMS}`, null) };
  await must(`PUT ${TIMS}`, { ...Object(json), roles: [] });
}

beforeEach(async () => {
  core = await openCore({ admins: { root: 'root' }, svc_httpd_auth: { iterations: '10', min_iterations: '1' } });
  for (const name of ['_users', 'db', 'open']) await must(`PUT /${name}`, null);
  await must(`PUT ${TIMS}`, { type: 'user', name: 'tim', password: 'tim', roles: ['team'] });
  await must('PUT /db/_security', { members: { roles: ['team'] } });
  const docs = Array.from({ length: 40 }, (_, index) => ({ _id: `doc${index}`, body: BODY }));
  await must('POST /db/_bulk_docs', { docs });
});

afterEach(async () => {
  await core.close();
});

describe('a response that is still being read when its reader loses the right', () => {
  const paths = {
    'GET /db/_all_docs?include_docs=true': undefined,
    'GET /db/_changes?include_docs=true': undefined,
    'POST /db/_find': { selector: {}, limit: 100 },
    'POST /db/_bulk_get': { docs: Array.from({ length: 40 }, (_, index) => ({ id: `doc${index}` })) },
  };
  test.each(Object.entries(paths))('is aborted: %s', async (what, json) => {
    const { status, body } = await ask(core, what, { headers: TIM, body: json ? JSON.stringify(json) : null });
    expect(status).toBe(200);
    if (!isStream(body)) throw new Error('the answer should be a stream');
    await body.pull();
    await takeRole();
    await expect(textOf(body)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('is aborted for an attachment as well', async () => {
    const bytes = new Uint8Array(3_000_000).fill(7);
    const put = await ask(core, 'PUT /db/file/data', { headers: ROOT, body: bytes });
    expect(put.status).toBe(201);
    const { body } = await ask(core, 'GET /db/file/data', { headers: TIM });
    if (!isStream(body)) throw new Error('the answer should be a stream');
    await body.pull();
    await takeRole();
    await expect(textOf(body)).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('continues if the reader keeps the right', async () => {
    const { body } = await ask(core, 'GET /db/_all_docs?include_docs=true', { headers: TIM });
    if (!isStream(body)) throw new Error('the answer should be a stream');
    await body.pull();
    await must('PUT /db/_security', { members: { roles: ['team'] }, admins: { names: ['eva'] } });
    expect(await textOf(body)).toContain('doc9');
  });
});

function later(): readonly [promise: Promise<void>, resolve: () => void] {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return [promise, resolve];
}

/** A body whose end comes when the test lets it. */
function slowBody(text: string): { readonly body: ByteStream; readonly begun: Promise<void>; finish(): void } {
  const [begun, begin] = later();
  const [finished, finish] = later();
  const chunks = [new TextEncoder().encode(text)];
  const pull = async () => {
    const chunk = chunks.shift();
    if (chunk !== undefined) return chunk;
    begin();
    await finished;
    return undefined;
  };
  return { body: { pull, cancel: async () => undefined }, begun, finish };
}

describe('a request body that takes long to arrive', () => {
  const uploads = {
    'PUT /db/late': '{"a":1}',
    'POST /db/_bulk_docs': '{"docs":[{"_id":"late"}]}',
    'PUT /db/late/file': 'bytes',
    // Public: the role is told to functions that validate writes.
    'PUT /open/late': '{"a":1}',
  };
  test.each(Object.entries(uploads))(
    'to %s writes nothing if its sender loses a role meanwhile',
    async (what, text) => {
      const { body, begun, finish } = slowBody(text);
      const answer = ask(core, what, { headers: TIM, body });
      await begun;
      await takeRole();
      finish();
      expect(await answer).toMatchObject({ status: 401 });
      for (const db of ['db', 'open']) {
        expect((await ask(core, `GET /${db}/late`, { headers: ROOT })).status).toBe(404);
      }
    },
  );

  test('is written if the sender keeps the right', async () => {
    const { body, begun, finish } = slowBody('{"a":1}');
    const answer = ask(core, 'PUT /db/late', { headers: TIM, body });
    await begun;
    await must('PUT /open/_security', {});
    finish();
    expect(await answer).toMatchObject({ status: 201 });
  });
});
