/** What every server of the family does, as requests in a database of their own. */
import { ask, exchange, type JsonObject, pathOf, ServerError } from '../server/client.ts';
import { absentEndpoint } from '../server/refusals.ts';

export interface Check {
  readonly name: string;
  /** Fails with an `Error` that says what was expected. `database`: an empty one, for this check alone. */
  readonly run: (database: string) => Promise<void>;
}

/** What one check found. */
export interface CheckResult {
  readonly name: string;
  readonly outcome: 'passed' | 'failed' | 'absent';
  /** Empty: it passed. */
  readonly problem: string;
  readonly tookMs: number;
}

/** The server does not have what the check is about. */
export class AbsentError extends Error {}

/** Sends a request to the database, and returns the status and the JSON. */
async function send(
  database: string,
  method: string,
  rest: string,
  json?: unknown,
): Promise<{ readonly status: number; readonly json: JsonObject }> {
  const path = rest === '' ? pathOf(database) : `${pathOf(database)}${rest}`;
  const request = { method, path, json: json === undefined ? undefined : JSON.stringify(json) };
  const { status, text } = await exchange(request);
  const answer = parse(text);
  const failure = new ServerError(status, `${answer['error']}`, `${answer['reason']}`, request);
  const endpoint = rest.startsWith('/_') ? absentEndpoint(failure) : undefined;
  if (endpoint !== undefined) throw new AbsentError(`This server has no ${endpoint}.`);
  return { status, json: answer };
}

function parse(text: string): JsonObject {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function expectSame(what: string, found: unknown, expected: unknown): void {
  const [seen, wanted] = [textOf(found), textOf(expected)];
  if (seen !== wanted) throw new Error(`${what} is ${seen}, expected ${wanted}.`);
}

/** JSON with the members of objects in the order of their names: servers have them in any order. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([left], [right]) => (left < right ? -1 : 1)))
      : one,
  );
}

async function store(database: string, id: string, json: JsonObject): Promise<string> {
  const { status, json: answer } = await send(database, 'PUT', `/${encodeURIComponent(id)}`, json);
  expectSame('The status of the write', status, 201);
  return `${answer['rev']}`;
}

const FIRST = '1-0000000000000000000000000000000a';
const OTHER = '1-0000000000000000000000000000000b';

/** Stores two revisions that know nothing of each other, as replication does. */
async function storeConflict(database: string): Promise<void> {
  const docs = [FIRST, OTHER].map((rev) => ({ _id: 'a', _rev: rev, from: rev }));
  await ask('POST', pathOf(database, '_bulk_docs'), { json: { docs, new_edits: false } });
}

export const CHECKS: readonly Check[] = [
  {
    name: 'A stored document is read as it was written',
    run: async (database) => {
      const rev = await store(database, 'a', { text: 'Grüße', list: [1, null, true] });
      const { json } = await send(database, 'GET', '/a');
      expectSame('The document', json, { _id: 'a', _rev: rev, text: 'Grüße', list: [1, null, true] });
    },
  },
  {
    name: 'An edit of an old revision is refused with 409, and changes nothing',
    run: async (database) => {
      const first = await store(database, 'a', { n: 1 });
      await store(database, 'a', { _rev: first, n: 2 });
      const { status } = await send(database, 'PUT', '/a', { _rev: first, n: 3 });
      expectSame('The status', status, 409);
      expectSame('The member n', (await send(database, 'GET', '/a')).json['n'], 2);
    },
  },
  {
    name: 'A deleted document is gone, and its id can be used again',
    run: async (database) => {
      const rev = await store(database, 'a', {});
      expectSame('The status of the deletion', (await send(database, 'DELETE', `/a?rev=${rev}`)).status, 200);
      const { status, json } = await send(database, 'GET', '/a');
      expectSame('The status of reading it', status, 404);
      expectSame('The reason', json['reason'], 'deleted');
      await store(database, 'a', { again: true });
    },
  },
  {
    name: 'Many documents are written at once, each with its own outcome',
    run: async (database) => {
      await store(database, 'b', {});
      const docs = [{ _id: 'a' }, { _id: 'b' }, { _id: 'c' }];
      const rows = await ask<readonly JsonObject[]>('POST', pathOf(database, '_bulk_docs'), { json: { docs } });
      expectSame(
        'The errors',
        rows.map(({ error }) => error ?? null),
        [null, 'conflict', null],
      );
    },
  },
  {
    name: 'The list of documents is sorted, and takes a range',
    run: async (database) => {
      for (const id of ['b', 'a', 'd', 'c']) await store(database, id, {});
      const { json } = await send(database, 'GET', '/_all_docs?startkey=%22b%22&endkey=%22c%22');
      const rows: unknown = json['rows'];
      expectSame('The ids', Array.isArray(rows) ? rows.map(({ id }) => id) : rows, ['b', 'c']);
      expectSame('The number of documents', json['total_rows'], 4);
    },
  },
  {
    name: 'Changes come in order, each document once',
    run: async (database) => {
      const rev = await store(database, 'a', {});
      await store(database, 'b', {});
      await store(database, 'a', { _rev: rev });
      const results: unknown = (await send(database, 'GET', '/_changes')).json['results'];
      expectSame('The ids', Array.isArray(results) ? results.map(({ id }) => id) : results, ['b', 'a']);
    },
  },
  {
    name: 'Conflicts are kept, and all servers choose the same winner',
    run: async (database) => {
      await storeConflict(database);
      const { json } = await send(database, 'GET', '/a?conflicts=true');
      expectSame('The winner', json['_rev'], OTHER);
      expectSame('The conflicts', json['_conflicts'], [FIRST]);
    },
  },
  {
    name: 'A replicator learns which revisions are missing',
    run: async (database) => {
      await storeConflict(database);
      const { json } = await send(database, 'POST', '/_revs_diff', { a: [FIRST, '2-x'] });
      const { missing }: JsonObject = { ...Object(json['a']) };
      expectSame('The missing revisions', missing, ['2-x']);
    },
  },
  {
    name: 'Local documents are stored, and not listed',
    run: async (database) => {
      expectSame('The status', (await send(database, 'PUT', '/_local/a', { n: 1 })).status, 201);
      expectSame('The member n', (await send(database, 'GET', '/_local/a')).json['n'], 1);
      expectSame('The number of documents', (await send(database, 'GET', '/_all_docs')).json['total_rows'], 0);
    },
  },
  {
    name: 'Attachments come back byte by byte, also in part',
    run: async (database) => {
      const path = `${pathOf(database, 'a')}/note.txt`;
      const body = new Blob(['0123456789'], { type: 'text/plain' });
      const put = await exchange({ method: 'PUT', path, body, headers: { 'content-type': 'text/plain' } });
      expectSame('The status of the write', put.status, 201);
      expectSame('The content', (await exchange({ method: 'GET', path })).text, '0123456789');
      const part = await exchange({ method: 'GET', path, headers: { range: 'bytes=2-4' } });
      expectSame('The status of a part', part.status, 206);
      expectSame('The part', part.text, '234');
    },
  },
  {
    name: 'Views are sorted by their keys, and reduced',
    run: async (database) => {
      const views = { n: { map: 'function (doc) { if (doc.n) emit(doc.n, doc.n); }', reduce: '_sum' } };
      await store(database, '_design/d', { views });
      for (const n of [3, 1, 2]) await store(database, `n${n}`, { n });
      const { json } = await send(database, 'GET', '/_design/d/_view/n?reduce=false');
      const rows: unknown = json['rows'];
      expectSame('The keys', Array.isArray(rows) ? rows.map(({ key }) => key) : rows, [1, 2, 3]);
      const sum = await send(database, 'GET', '/_design/d/_view/n');
      expectSame('The sum', sum.json['rows'], [{ key: null, value: 6 }]);
    },
  },
  {
    name: 'Selectors find documents',
    run: async (database) => {
      for (const n of [1, 2, 3]) await store(database, `n${n}`, { n });
      const { json } = await send(database, 'POST', '/_find', { selector: { n: { $gt: 1 } }, fields: ['n'] });
      expectSame('The documents', json['docs'], [{ n: 2 }, { n: 3 }]);
    },
  },
];
