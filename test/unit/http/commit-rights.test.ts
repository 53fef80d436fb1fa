import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/shared/clock.ts';
import { type Core, createCore } from '../../../src/core/core.ts';
import { deferredAtHand } from '../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../../src/storage/memory-page-store.ts';
import { Gate, HookedStore, settle } from '../database/store/harness.ts';
import { type Asked, ask, askJson, clock } from './support.ts';

/** A write that is under way when its right ends is not committed (docs/http/accounts.md#rights-that-end). */
const basic = (name: string, password: string) => ({ authorization: `Basic ${btoa(`${name}:${password}`)}` });
const ROOT = basic('root', 'secret');
const TIM = basic('tim', 'tim');
const TIMS = '/_users/org.couchdb.user:tim';
/** Where a commit waits, once it has begun. */
const hold: { gate: Gate | undefined; file: string | undefined } = { gate: undefined, file: undefined };
let core: Core;

beforeEach(async () => {
  const beforeCommit = async (_commit: unknown, file: string) => {
    if (hold.gate === undefined) return;
    hold.file ??= file;
    if (file === hold.file) await hold.gate.opened;
  };
  const storage = new HookedStore(createMemoryPageStore(), { beforeCommit });
  const config = { svc_httpd_auth: { iterations: '10', min_iterations: '1' }, admins: { root: 'secret' } };
  core = await createCore({ storage, clock, random: systemRandom, config, basePath: '', deferred: deferredAtHand() });
  await must('PUT /_users');
  await must('PUT /priv');
  await must(`PUT ${TIMS}`, { type: 'user', name: 'tim', roles: ['team'], password: 'tim' });
  await must('PUT /priv/_security', { admins: { names: ['tim'] }, members: { names: ['tim'] } });
  await must('PUT /priv/there', {});
});

afterEach(async () => {
  hold.gate = undefined;
  hold.file = undefined;
  await core.close();
});

async function must(what: string, json?: unknown): Promise<unknown> {
  const body = json === undefined ? null : JSON.stringify(json);
  const [status, answer] = await askJson(core, what, { headers: ROOT, body });
  expect(status, what).toBeLessThan(300);
  return answer;
}

/** Has a commit of the database wait while `work` is done, and requests that were begun before it. */
async function held<T>(requests: () => T, work: () => Promise<unknown>): Promise<T> {
  hold.gate = new Gate();
  const first = ask(core, 'PUT /priv/first', { headers: ROOT, body: '{}' });
  await settle();
  const begun = requests();
  for (let n = 0; n < 20; n++) await settle();
  await work();
  hold.gate.open();
  expect((await first).status).toBe(201);
  return begun;
}

const revOf = (answer: unknown) => String(Reflect.get(Object(answer), '_rev'));

const RELATED = [
  '--b',
  'content-type: application/json',
  '',
  '{"_attachments":{"a":{"follows":true,"content_type":"text/plain","length":2}}}',
  '--b',
  '',
  'hi',
  '--b--',
  '',
].join('\r\n');

const FROM_HERE = {
  'content-type': 'multipart/form-data; boundary=b',
  host: 'here.test',
  referer: 'http://here.test/',
};
const FORM = ['--b', 'content-disposition: form-data; name="_doc"', '', '{"x":1}', '--b--', ''].join('\r\n');

const WRITES: readonly (readonly [string, string, Asked])[] = [
  ['a document', 'PUT /priv/new', { body: '{}' }],
  ['a document with an id of ours', 'POST /priv', { body: '{}' }],
  ['a deletion', 'DELETE /priv/there?rev=REV', {}],
  ['a copy', 'COPY /priv/there', { headers: { destination: 'new' } }],
  [
    'a copy elsewhere',
    'COPY /public/there',
    { headers: { host: 'here.test', destination: 'http://here.test/priv/new' } },
  ],
  ['many', 'POST /priv/_bulk_docs', { body: '{"docs":[{"_id":"new"},{"_id":"_local/new"}]}' }],
  ['a replicated one', 'POST /priv/_bulk_docs', { body: '{"new_edits":false,"docs":[{"_id":"new","_rev":"1-a0"}]}' }],
  ['an attachment in it', 'PUT /priv/new', { body: '{"_attachments":{"a":{"data":"aGk="}}}' }],
  [
    'attachments behind it',
    'PUT /priv/new',
    { headers: { 'content-type': 'multipart/related; boundary=b' }, body: RELATED },
  ],
  ['an attachment', 'PUT /priv/new/a', { headers: { 'content-type': 'text/plain' }, body: 'hi' }],
  ['a form', 'POST /priv/new', { headers: FROM_HERE, body: FORM }],
  ['a local document', 'PUT /priv/_local/new', { body: '{}' }],
  ['an index', 'POST /priv/_index', { body: '{"index":{"fields":["a"]},"ddoc":"new"}' }],
  ['a security object', 'PUT /priv/_security', { body: '{"members":{"names":["eve"]}}' }],
  ['a limit of revisions', 'PUT /priv/_revs_limit', { body: '7' }],
  ['a purge', 'POST /priv/_purge', { body: '{"there":["REV"]}' }],
];

async function state(): Promise<unknown> {
  const parts = ['_all_docs', '_local_docs', '_security', '_revs_limit'];
  return Promise.all(parts.map((part) => must(`GET /priv/${part}`)));
}

describe('a write that waits to be committed', () => {
  beforeEach(async () => {
    await must('PUT /public');
    await must('PUT /public/_security', {});
    await must('PUT /public/there', {});
  });

  test.each(WRITES)('%s: is refused for a user whose account is deleted', async (_what, path, asked) => {
    const rev = revOf(await must('GET /priv/there'));
    const body = typeof asked.body === 'string' ? asked.body.replace('REV', rev) : null;
    const [url, headers] = [path.replace('REV', rev), { ...TIM, ...asked.headers }];
    const account = await must(`GET ${TIMS}`);
    const answer = await held(
      () => ask(core, url, { headers, body }),
      () => must(`DELETE ${TIMS}?rev=${revOf(account)}`),
    );
    expect(answer.status).toBe(401);
    const after = await state();
    expect(JSON.stringify(after)).not.toMatch(/new|eve/);
    expect(after).toMatchObject([{ total_rows: 2 }, {}, { admins: { names: ['tim'] } }, 1000]);
  });

  test.each(WRITES)(
    '%s: is accepted for a user who still has the right, even if another account changed',
    async (_what, path, asked) => {
      const rev = revOf(await must('GET /priv/there'));
      const body = typeof asked.body === 'string' ? asked.body.replace('REV', rev) : null;
      const [url, headers] = [path.replace('REV', rev), { ...TIM, ...asked.headers }];
      const eva = { type: 'user', name: 'eva', roles: [], password: 'eva' };
      const answer = await held(
        () => ask(core, url, { headers, body }),
        () => must('PUT /_users/org.couchdb.user:eva', eva),
      );
      expect(answer.status).toBeLessThan(300);
    },
  );

  test('is refused without an effect on others of the same commit', async () => {
    const account = await must(`GET ${TIMS}`);
    const write = (name: string, headers: Record<string, string>) =>
      ask(core, `PUT /priv/${name}`, { headers, body: '{}' });
    const answers = await held(
      () => Promise.all([write('a', ROOT), write('b', TIM), write('c', ROOT), write('d', TIM)]),
      () => must(`DELETE ${TIMS}?rev=${revOf(account)}`),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 401, 201, 401]);
    expect(await must('GET /priv/_all_docs')).toMatchObject({
      rows: ['a', 'c', 'first', 'there'].map((id) => ({ id })),
    });
  });

  test('is refused for a user who lost a role', async () => {
    const account = await must(`GET ${TIMS}`);
    const answer = await held(
      () => ask(core, 'PUT /priv/new', { headers: TIM, body: '{}' }),
      () => must(`PUT ${TIMS}`, { ...Object(account), roles: [] }),
    );
    expect(answer.status).toBe(401);
  });
});
