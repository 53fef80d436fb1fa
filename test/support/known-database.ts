import { at } from './conformance/json.ts';
import { nextPoll } from './conformance/toolkit.ts';

/** A database with something of everything, and questions to which it always returns the same responses. */

const words = 'many words that a damaged byte would make others of, ';

export interface KnownQuestion {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON text with the content type of JSON. */
  readonly json?: unknown;
}

interface KnownAnswer {
  readonly status: number;
  readonly text: string;
  readonly json: unknown;
}

/** A client for the tested service. */
export interface Client {
  /** Rejects if the response breaks off. */
  ask(method: string, path: string, question?: KnownQuestion): Promise<KnownAnswer>;
  /** Requires this status of the response. */
  must(status: number, method: string, path: string, question?: KnownQuestion): Promise<KnownAnswer>;
}

function documentOf(n: number) {
  return { _id: `doc-${String(n).padStart(3, '0')}`, n, group: n % 7, text: `${n}: ${words.repeat(1 + (n % 5))}` };
}

/** Some documents are then in the trees and pages of the store, some only in the journal if the process is killed. */
export async function fill(client: Client, database: string): Promise<void> {
  const path = `/${database}`;
  await client.must(201, 'PUT', path);
  const map = 'function (doc) { emit([doc.group, doc.n], doc.text); }';
  const views = { v: { map, reduce: '_count' } };
  await client.must(201, 'PUT', `${path}/_design/d`, { json: { views } });
  const index = { index: { fields: ['group', 'n'] }, name: 'by-group', ddoc: 'by-group' };
  await client.must(200, 'POST', `${path}/_index`, { json: index });
  const docs = Array.from({ length: 150 }, (_, n) => documentOf(n));
  const written = await client.must(201, 'POST', `${path}/_bulk_docs`, { json: { docs } });
  for (const size of [5_000, 40_000, 150_000]) {
    const text = words.repeat(size / words.length);
    await client.must(201, 'PUT', `${path}/large-${size}`, { json: { text } });
  }
  const conflicts = Array.from({ length: 5 }, (_, n) => ({
    _id: 'contested',
    _rev: `1-${`${n}`.repeat(32)}`,
    n,
    text: words,
  }));
  await client.must(201, 'POST', `${path}/_bulk_docs`, { json: { new_edits: false, docs: conflicts } });
  await client.must(201, 'PUT', `${path}/_local/mine`, { json: { text: words } });
  await client.must(200, 'PUT', `${path}/_security`, { json: { members: { names: ['ann', 'bob'], roles: [] } } });
  await client.must(202, 'POST', `${path}/_compact`, { headers: { 'content-type': 'application/json' } });
  while (at((await client.must(200, 'GET', path)).json, 'compact_running') === true) await nextPoll();
  await client.must(200, 'GET', `${path}/_design/d/_view/v`);
  await client.must(200, 'POST', `${path}/_find`, { json: { selector: { group: 1 } } });
  await client.must(200, 'DELETE', `${path}/doc-007?rev=${at(written.json, 7, 'rev')}`);
  for (let n = 10; n < 30; n++) {
    const json = { ...documentOf(n), _rev: at(written.json, n, 'rev'), changed: true };
    await client.must(201, 'PUT', `${path}/doc-${String(n).padStart(3, '0')}`, { json });
  }
  await client.must(201, 'PUT', `${path}/large-late`, { json: { text: words.repeat(1_000) } });
}

interface Asked {
  readonly method: string;
  readonly below: string;
  readonly json?: unknown;
}

const questions: readonly Asked[] = [
  { method: 'GET', below: '/_all_docs?include_docs=true' },
  ...['doc-000', 'doc-015', 'doc-149', 'doc-007', 'large-5000', 'large-40000', 'large-150000', 'large-late'].map(
    (id) => ({
      method: 'GET',
      below: `/${id}`,
    }),
  ),
  { method: 'GET', below: '/doc-020?revs=true' },
  { method: 'GET', below: '/contested?open_revs=all&revs=true' },
  { method: 'GET', below: '/_local/mine' },
  { method: 'GET', below: '/_security' },
  { method: 'GET', below: '/_revs_limit' },
  { method: 'GET', below: '/_design/d/_view/v?reduce=false' },
  { method: 'GET', below: '/_design/d/_view/v?group_level=1' },
  { method: 'POST', below: '/_find', json: { selector: { group: 3 }, limit: 1_000 } },
  { method: 'POST', below: '/_revs_diff', json: { contested: [`1-${'3'.repeat(32)}`, `1-${'9'.repeat(32)}`] } },
];

/** The members of `GET /{db}` that do not depend on time and place; `update_seq` jumps after a killed process. */
const lasting = ['db_name', 'doc_count', 'doc_del_count', 'purge_seq'];

/** A database's responses, by request: the status and the text, or `error` if it is an error, or none arrives whole. */
export async function answersOf(client: Client, database: string): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  for (const { method, below, json } of questions) {
    const question = json === undefined ? {} : { json };
    answers.set(
      `${method} ${below}`,
      await answerTo(client, method, `/${database}${below}`, question, ({ text }) => text),
    );
  }
  const info = await answerTo(client, 'GET', `/${database}`, {}, (answer) =>
    JSON.stringify(lasting.map((member) => at(answer.json, member))).replace(database, 'name'),
  );
  return answers.set('GET', info);
}

async function answerTo(
  client: Client,
  method: string,
  path: string,
  question: { readonly json?: unknown },
  contentOf: (answer: { readonly text: string; readonly json: unknown }) => string,
): Promise<string> {
  try {
    const answer = await client.ask(method, path, question);
    if (answer.status >= 500 && typeof at(answer.json, 'error') === 'string') return 'error';
    return `${answer.status} ${contentOf(answer)}`;
  } catch {
    return 'error';
  }
}
