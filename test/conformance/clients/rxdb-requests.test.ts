/**
 * RxDB's replication with CouchDB, as the requests that its plugin sends (version 17): the package with all its dependencies takes longer to install than
 * everything else here together.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';

let host: NodeHost;
let url: string;

beforeAll(async () => {
  host = await NodeHost.start();
  url = `${host.baseUrl}/heroes/`;
});
afterAll(() => host.close());
beforeEach(() => ask('PUT', ''));
afterEach(() => ask('DELETE', ''));

async function ask(method: string, path: string, body?: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${url}${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return answer.json();
}

/** The plugin puts nothing into quotes, and encodes nothing. */
const pull = (since: unknown, feed = 'normal', limit = 2) =>
  ask(
    'GET',
    `_changes?style=all_docs&feed=${feed}&include_docs=true&since=${since}&heartbeat=60000&limit=${limit}&seq_interval=${limit}`,
  );

const masterStates = (...keys: string[]) => ask('POST', '_all_docs?', { keys, include_docs: true, deleted: 'ok' });

const push = (...docs: object[]) => ask('POST', '_bulk_docs?', { docs });

test('pulls in batches until one has nothing, with deletions', async () => {
  await push({ _id: 'a', n: 1, _deleted: false }, { _id: 'b', n: 1, _deleted: false }, { _id: 'c', n: 1 });
  const rev = stringAt(await ask('GET', 'b'), '_rev');
  await push({ _id: 'b', _rev: rev, n: 2, _deleted: true });
  const seen: unknown[] = [];
  let since: unknown = 0;
  for (let batch = await pull(since); arrayAt(batch, 'results').length > 0; batch = await pull(since)) {
    for (const { doc } of arrayAt(batch, 'results').map(Object)) seen.push([doc._id, doc._deleted === true]);
    since = at(batch, 'last_seq');
  }
  expect(seen).toEqual([
    ['a', false],
    ['c', false],
    ['b', true],
  ]);
  expect(at(await pull(since), 'last_seq')).toEqual(since);
});

test('pushes what the server lacks, and learns of conflicts', async () => {
  expect(await masterStates('new')).toMatchObject({ rows: [{ key: 'new', error: 'not_found' }] });
  const [first] = arrayAt(await push({ _id: 'new', n: 1, _deleted: false }));
  expect(first).toMatchObject({ ok: true, id: 'new' });
  const known = await masterStates('new');
  expect(at(known, 'rows', 0)).toMatchObject({ id: 'new', key: 'new', doc: { _id: 'new', n: 1 } });
  expect(at(known, 'rows', 0, 'doc')).not.toHaveProperty('_deleted');
  const rev = stringAt(known, 'rows', 0, 'doc', '_rev');
  await push({ _id: 'new', _rev: rev, n: 2 });
  // Somebody else was faster: the plugin reads the present state by `keys` in the address.
  const [late] = arrayAt(await push({ _id: 'new', _rev: rev, n: 3 }));
  expect(late).toMatchObject({ id: 'new', error: 'conflict' });
  const present = await ask('GET', `_all_docs?include_docs=true&keys=${JSON.stringify(['new'])}`);
  expect(at(present, 'rows', 0, 'doc', 'n')).toBe(2);
});

test('a deleted document is a row without a document, and can be written again', async () => {
  await push({ _id: 'gone', n: 1 });
  await push({ _id: 'gone', _rev: stringAt(await ask('GET', 'gone'), '_rev'), _deleted: true });
  const row = at(await masterStates('gone'), 'rows', 0);
  expect(row).toMatchObject({ id: 'gone', key: 'gone', value: { deleted: true }, doc: null });
  expect(arrayAt(await push({ _id: 'gone', n: 2, _deleted: false }))[0]).toMatchObject({ ok: true, id: 'gone' });
});

test('waits for the next change with a long poll, from now on', async () => {
  await push({ _id: 'before', n: 1 });
  const { last_seq: since } = Object(await pull('now', 'normal'));
  const next = pull(since, 'longpoll');
  await push({ _id: 'after', n: 1 });
  expect(await next).toMatchObject({ results: [{ id: 'after', doc: { n: 1 } }] });
});
