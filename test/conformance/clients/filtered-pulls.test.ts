/**
 * Deployments with thousands of users who each pull a part of one database, as the Community Health Toolkit does: each client sends the ids of its
 * documents, ten thousand of them, and asks again with the same list for what has changed.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { arrayAt, at } from '../../support/conformance/json.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';

const USERS = 8;
const IDS = 10_000;
const DOCUMENTS = 30_000;
/** Of each page's documents so many are read, once in so many: reading all of them for all users would be most of the time. */
const BATCH = 100;
const SAMPLE = 1_000;

let host: NodeHost;

beforeAll(async () => {
  host = await NodeHost.start({
    admins: { root: 'secret' },
    svc_httpd_auth: { iterations: '10', min_iterations: '1', require_valid_user: 'true' },
  });
  await ask('PUT', '/medic', undefined, 'root:secret');
  await ask('PUT', '/_users', undefined, 'root:secret');
  for (let user = 0; user < USERS; user++) {
    const json = { name: `chw-${user}`, password: 'secret', type: 'user', roles: ['chw'] };
    await ask('PUT', `/_users/org.couchdb.user:chw-${user}`, json, 'root:secret');
  }
  await ask('PUT', '/medic/_security', { members: { roles: ['chw'] } }, 'root:secret');
  for (let first = 0; first < DOCUMENTS; first += 5_000) {
    const docs = Array.from({ length: 5_000 }, (_, index) => ({
      _id: idOf(first + index),
      form: 'visit',
      n: first + index,
    }));
    await ask('POST', '/medic/_bulk_docs', { docs }, 'root:secret');
  }
});
afterAll(() => host.close());

function idOf(number: number): string {
  return `${number.toString(16).padStart(8, '0')}-4d1f-4c6b-9f3e-0123456789ab`;
}

/** Parts overlap. */
function idsOf(user: number): string[] {
  return Array.from({ length: IDS }, (_, index) => idOf((user * 3_000 + index * 2) % DOCUMENTS));
}

async function ask(method: string, path: string, json?: unknown, user = 'chw-0:secret'): Promise<unknown> {
  const headers = { 'content-type': 'application/json', authorization: `Basic ${btoa(user)}` };
  const answer = await fetch(`${host.baseUrl}${path}`, {
    method,
    headers,
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const value: unknown = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(value)}`);
  return value;
}

const changes = (user: number, query: string) =>
  ask(
    'POST',
    `/medic/_changes?filter=_doc_ids&style=all_docs&${query}`,
    { doc_ids: idsOf(user) },
    `chw-${user}:secret`,
  );

/** As PouchDB pulls: pages of changes, and the documents of each by `_bulk_get`. Returns the ids, and where it ended. */
async function pull(user: number): Promise<{ readonly ids: Set<unknown>; readonly since: unknown }> {
  const ids = new Set<unknown>();
  let since: unknown = 0;
  for (;;) {
    const page = await changes(user, `since=${since}&limit=2500`);
    const rows = arrayAt(page, 'results');
    since = at(page, 'last_seq');
    for (let first = 0; first < rows.length; first += SAMPLE) {
      const docs = rows
        .slice(first, first + BATCH)
        .map((row) => ({ id: at(row, 'id'), rev: at(row, 'changes', 0, 'rev') }));
      const read = await ask('POST', '/medic/_bulk_get?revs=true&latest=true', { docs }, `chw-${user}:secret`);
      for (const one of arrayAt(read, 'results')) expect(at(one, 'docs', 0, 'ok', '_id')).toBe(at(one, 'id'));
    }
    for (const row of rows) ids.add(at(row, 'id'));
    if (rows.length === 0) return { ids, since };
  }
}

test('users pull their ten thousand documents at the same time, and then only what is new', async () => {
  const pulled = await Promise.all(Array.from({ length: USERS }, (_, user) => pull(user)));
  for (const [user, { ids }] of pulled.entries()) expect(ids).toEqual(new Set(idsOf(user)));
  const [changed = ''] = idsOf(3);
  const before = await ask('GET', `/medic/${changed}`);
  await ask('PUT', `/medic/${changed}`, { ...Object(before), n: -1 });
  for (const [user, { since }] of pulled.entries()) {
    const news = await changes(user, `since=${since}`);
    const expected = idsOf(user).includes(changed) ? [changed] : [];
    expect(arrayAt(news, 'results').map((row) => at(row, 'id'))).toEqual(expected);
  }
});

test('a long poll with ten thousand ids wakes for one of them, and for no other', async () => {
  const mine = idsOf(0);
  const other = idOf(1);
  expect(mine).not.toContain(other);
  const { last_seq: since } = Object(await changes(0, 'since=now'));
  const waiting = changes(0, `since=${since}&feed=longpoll&heartbeat=10000`);
  for (const id of [other, mine[5_000] ?? '']) {
    const { _rev } = Object(await ask('GET', `/medic/${id}`));
    await ask('PUT', `/medic/${id}`, { _rev, form: 'visit', n: 0 });
  }
  const woken = await waiting;
  expect(arrayAt(woken, 'results').map((row) => at(row, 'id'))).toEqual([mine[5_000]]);
});

test('the ids of a replication by document may be as many', async () => {
  await ask(
    'POST',
    '/_replicate',
    {
      source: { url: `${host.baseUrl}/medic`, auth: { basic: { username: 'root', password: 'secret' } } },
      target: { url: `${host.baseUrl}/part`, auth: { basic: { username: 'root', password: 'secret' } } },
      create_target: true,
      doc_ids: idsOf(1),
    },
    'root:secret',
  );
  expect(await ask('GET', '/part', undefined, 'root:secret')).toMatchObject({ doc_count: IDS });
});
