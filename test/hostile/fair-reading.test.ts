import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import type { DrainedAnswer, HttpClient, Question } from './support/http-client.ts';
import { assertUndisturbed, Neighbour } from './support/neighbour.ts';
import { observed, type Permitted } from './support/observation.ts';

/**
 * Whoever asks for much, or brings much, holds up nobody else: a neighbour is answered within 100 ms meanwhile. Each case takes the
 * server a second or more.
 */
const limits = { longest: 100, turn: 65 };
const timeout = 120_000;
const DOCUMENTS = 50_000;
const CONFLICTS = 2_000;

let folder: string;
let server: AttackedServer;
let neighbour: Neighbour;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
  server = await AttackedServer.start({ folder });
  await fill(server.client);
  await (await Neighbour.moveIn(server)).moveOut();
  await server.stop();
}, 240_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

// A server for each case: what one leaves under way must not be measured in the next.
beforeEach(async () => {
  server = await AttackedServer.start({ folder });
  await server.client.must(200, 'GET', '/many/_design/d/_view/by_n?limit=1');
  await server.client.must(200, 'GET', '/conflicts/contested');
  neighbour = await Neighbour.returnTo(server);
});

afterEach(async () => {
  await neighbour.moveOut();
  await server.remove();
});

async function fill(client: HttpClient): Promise<void> {
  await client.must(201, 'PUT', '/many');
  for (let from = 0; from < DOCUMENTS; from += 10_000) {
    const docs = Array.from({ length: 10_000 }, (_, index) => documentOf(from + index));
    await client.must(201, 'POST', '/many/_bulk_docs', { json: { docs } });
  }
  const views = {
    by_n: { map: 'function (doc) { emit(doc.n, doc.group); }', reduce: '_sum' },
    counted: { map: 'function (doc) { emit(doc.n, 1); }', reduce: 'function (keys, values) { return sum(values); }' },
  };
  const lists = { all: 'function () { var row; while ((row = getRow())) send(row.id + "\\n"); }' };
  await client.must(201, 'PUT', '/many/_design/d', { json: { views, lists } });
  await client.must(200, 'GET', '/many/_design/d/_view/by_n?limit=1');
  const index = { index: { fields: ['n'] }, name: 'by-n', ddoc: 'by-n' };
  await client.must(200, 'POST', '/many/_index', { json: index });
  await client.must(200, 'POST', '/many/_find', { json: { selector: { n: 1 } } });
  await client.must(201, 'PUT', '/conflicts');
  await client.must(201, 'POST', '/conflicts/_bulk_docs', { json: { new_edits: false, docs: conflicting(0) } });
  await client.must(201, 'PUT', '/brought');
}

function documentOf(n: number) {
  return { _id: idOf(n), n, group: n % 10, text: 'a text as long as those of many documents are '.repeat(5) };
}

function idOf(n: number): string {
  return `doc-${String(n).padStart(7, '0')}`;
}

/** Revisions of one document, each with no ancestors. */
function conflicting(from: number) {
  return Array.from({ length: CONFLICTS }, (_, index) => ({
    _id: 'contested',
    _rev: `1-${String(from + index).padStart(32, '0')}`,
    n: from + index,
  }));
}

/** As many documents as one request may bring. */
const BROUGHT = 100_000;
const numbers = Array.from({ length: 200_000 }, (_, n) => n);

/** A request, and what the tail of its answer must look like. `%` makes a database of its own. */
type Attack = readonly [
  what: string,
  status: number,
  tail: RegExp,
  method: string,
  path: string,
  question?: () => Question,
  /** Requests that go before it, and are not measured. */
  before?: readonly string[],
  permitted?: Permitted,
];

async function attack(
  [, status, tail, method, path, question = () => ({}), before = [], permitted]: Attack,
  readers = 1,
): Promise<void> {
  if (permitted !== undefined) observed().permit(permitted);
  const { result } = await assertUndisturbed(neighbour, limits, {
    // Made before, so that the answers are what is measured.
    prepare: async () => {
      const { json, body = json === undefined ? undefined : Buffer.from(JSON.stringify(json)), headers } = question();
      if (path.includes('%')) count += 1;
      const ownPath = path.replace('%', `${count}`);
      if (ownPath !== path) await server.client.must(201, 'PUT', ownPath.slice(0, ownPath.indexOf('/', 1)));
      const sent: Question = {
        ...(body === undefined ? {} : { body }),
        headers: { 'content-type': 'application/json', ...headers },
      };
      for (const other of before) await server.client.must(201, method, other.replace('%', `${count}`), sent);
      return { ownPath, sent };
    },
    disturb: ({ ownPath, sent }) =>
      Promise.all(Array.from({ length: readers }, () => server.client.drain(method, ownPath, sent))),
  });
  for (const answer of result) assertAnswer(answer, status, tail);
}

function assertAnswer(answer: DrainedAnswer, status: number, tail: RegExp): void {
  expect(answer.status, answer.tail).toBe(status);
  assert.match(answer.tail, tail);
}

const rows = /\}\r\n\]\}\n$/;

describe('other clients are served in time while one asks for many items', () => {
  const attacks: readonly Attack[] = [
    ['documents', 200, rows, 'GET', '/many/_all_docs'],
    ['documents with their bodies', 200, rows, 'GET', '/many/_all_docs?include_docs=true'],
    [
      'documents with their conflicts, backwards',
      200,
      rows,
      'GET',
      '/many/_all_docs?include_docs=true&conflicts=true&descending=true',
    ],
    ['documents, after skipping most', 200, rows, 'GET', `/many/_all_docs?skip=${DOCUMENTS - 10}`],
    ['rows of a view', 200, rows, 'GET', '/many/_design/d/_view/by_n?reduce=false'],
    ['rows of a view with documents', 200, rows, 'GET', '/many/_design/d/_view/by_n?reduce=false&include_docs=true'],
    ['groups of a built-in reduce', 200, rows, 'GET', '/many/_design/d/_view/by_n?group=true'],
    ['groups of a reduce function', 200, rows, 'GET', '/many/_design/d/_view/counted?group=true'],
    ['rows of a list', 200, /doc-\d+\n$/, 'GET', '/many/_design/d/_list/all/by_n?reduce=false'],
    [
      'answers to a query',
      200,
      /"bookmark":/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: { n: { $gte: 0 } }, limit: DOCUMENTS } }),
    ],
  ];

  test.for(attacks)('%s', { timeout }, (each) => attack(each, 3));
});

describe('other clients are served in time while one asks for large results', () => {
  const attacks: readonly Attack[] = [
    [
      'documents that no index knows',
      200,
      /"docs":\[\s*\]|bookmark/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: { none: 1 } } }),
    ],
    [
      'documents by a pattern that goes back for ever',
      200,
      /The number of documents examined is high/,
      'POST',
      '/many/_find',
      () => ({
        json: { selector: { _id: { $lt: idOf(5_000) }, text: { $regex: '^(a|[a-z ]|[a-z ][a-z ])*!$' } }, limit: 5 },
      }),
    ],
    [
      'documents by one of many values',
      200,
      /bookmark/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: { group: { $in: numbers.slice(0, 1_000).map((n) => n + 10) } }, limit: 5 } }),
    ],
    [
      'documents by many conditions',
      200,
      /bookmark/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: { $or: numbers.slice(0, 300).map((n) => ({ group: -1 - n })) }, limit: 5 } }),
    ],
    [
      'an order that no index has',
      400,
      /no_usable_index/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: {}, sort: numbers.slice(0, 1_000).map((n) => `f${n}`) } }),
    ],
    [
      'an order by more fields than there may be',
      400,
      /invalid_sort_json/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: {}, sort: numbers.map((n) => `f${n}`) } }),
    ],
    ['all revisions of a document', 200, /\]\n$/, 'GET', '/conflicts/contested?open_revs=all&revs=true'],
    ['the conflicts of a document', 200, /\}\n$/, 'GET', '/conflicts/contested?conflicts=true&revs_info=true'],
  ];

  test.for(attacks)('%s', { timeout }, (each) => attack(each));
});

describe('other clients are served in time while one names many items', () => {
  const ids = () => numbers.map(idOf);
  const revisions = () => Object.fromEntries(ids().map((id) => [id, [`1-${'a'.repeat(32)}`]]));
  const attacks: readonly Attack[] = [
    ['ids', 200, /\]\}\n$/, 'POST', '/many/_all_docs', () => ({ json: { keys: ids() } })],
    [
      'ids of documents that are asked for',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_all_docs?include_docs=true',
      () => ({ json: { keys: ids() } }),
    ],
    [
      'keys of a view',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_design/d/_view/by_n?reduce=false',
      () => ({ json: { keys: numbers } }),
    ],
    [
      'keys of a reduce',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_design/d/_view/by_n?group=true',
      () => ({ json: { keys: numbers } }),
    ],
    ['revisions that may be missing', 200, /\}\n$/, 'POST', '/many/_revs_diff', () => ({ json: revisions() })],
    [
      'revisions that may be missing, in the old way',
      200,
      /\}\n$/,
      'POST',
      '/many/_missing_revs',
      () => ({ json: revisions() }),
    ],
    [
      'revisions of one document',
      200,
      /\}\n$/,
      'POST',
      '/conflicts/_revs_diff',
      () => ({ json: { contested: numbers.slice(0, 5_000).map((n) => `1-${String(n).padStart(32, '0')}`) } }),
    ],
    [
      'revisions to read',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_bulk_get',
      () => ({ json: { docs: ids().map((id) => ({ id })) } }),
    ],
    [
      'ids whose changes are asked for',
      200,
      /"pending":0\}\n$/,
      'POST',
      '/many/_changes?filter=_doc_ids',
      () => ({ json: { doc_ids: ids() } }),
    ],
    ['revisions to purge', 200, /\}\n$/, 'POST', '/many/_purge', () => ({ json: revisions() })],
    [
      'queries',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_all_docs/queries',
      () => ({ json: { queries: numbers.slice(0, 20_000).map((n) => ({ keys: [idOf(n)] })) } }),
    ],
    [
      'queries of a view',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_design/d/_view/by_n/queries',
      () => ({ json: { queries: numbers.slice(0, 20_000).map((n) => ({ key: n, reduce: false })) } }),
    ],
    [
      'databases',
      200,
      /\]\n$/,
      'POST',
      '/_dbs_info',
      () => ({ json: { keys: numbers.slice(0, 80_000).map((n) => `db${n}`) } }),
    ],
  ];

  test.for(attacks)('%s', { timeout }, (each) => attack(each));
});

describe('other clients are served in time while one sends large bodies', () => {
  const written = /"rev":"[^"]+"\}\]?\n$/;
  const long = 50_000_000;
  const attacks: readonly Attack[] = [
    [
      'in documents',
      201,
      written,
      'POST',
      '/brought/_bulk_docs',
      () => ({ json: { docs: numbers.slice(0, 50_000).map((n) => ({ n, text: `text ${n}` })) } }),
    ],
    // So many that a loop that gives nobody a turn shows.
    [
      'in very many documents',
      201,
      written,
      'POST',
      '/many%/_bulk_docs',
      () => ({ json: { docs: numbers.slice(0, BROUGHT).map(() => ({})) } }),
    ],
    [
      'in very many documents that are there already',
      201,
      /"error":"conflict"[^}]*\}\]\n$/,
      'POST',
      '/many%/_bulk_docs',
      () => ({ json: { docs: numbers.slice(0, BROUGHT).map((n) => ({ _id: idOf(n) })) } }),
      ['/many%/_bulk_docs'],
    ],
    [
      'in very many revisions',
      201,
      /^\[\]\n$/,
      'POST',
      '/many%/_bulk_docs',
      () => ({
        json: { new_edits: false, docs: numbers.slice(0, BROUGHT).map((n) => ({ _id: idOf(n), _rev: '1-00', n })) },
      }),
    ],
    [
      'in documents with all or nothing',
      201,
      written,
      'POST',
      '/brought/_bulk_docs',
      () => ({ json: { all_or_nothing: true, docs: numbers.slice(0, 50_000).map((n) => ({ n })) } }),
    ],
    [
      'in revisions of one document',
      201,
      /^\[\]\n$/,
      'POST',
      '/conflicts/_bulk_docs',
      () => ({ json: { new_edits: false, docs: conflicting(CONFLICTS) } }),
    ],
    ['in a text', 201, written, 'POST', '/brought', () => ({ json: { text: 'x'.repeat(long) } })],
    [
      'in a text with escapes',
      201,
      written,
      'POST',
      '/brought',
      () => ({ json: { text: '\u0001"\\'.repeat(long / 10) } }),
    ],
    ['in numbers', 201, written, 'POST', '/brought', () => ({ json: { list: new Array(long / 4).fill(1.5) } })],
    [
      'in members',
      201,
      written,
      'POST',
      '/brought',
      () => ({ json: Object.fromEntries(numbers.map((n) => [`member${n}`, n])) }),
    ],
    [
      'in a local document',
      201,
      written,
      'PUT',
      '/brought-%/_local/large',
      () => ({ json: { list: new Array(long / 4).fill(1.5) } }),
    ],
    [
      'in a local document beside two others',
      201,
      written,
      'PUT',
      '/brought-%/_local/large',
      () => ({ json: { list: new Array(long / 4).fill(1.5) } }),
      ['/brought-%/_local/before', '/brought-%/_local/next'],
      { bytes: 600_000_000, because: 'local documents of 50 MB are kept whole; three are written (docs/limits.md)' },
    ],
    ['in nested arrays', 400, /bad_request/, 'PUT', '/brought/deep', () => ({ body: Buffer.alloc(long, '[') })],
    ['in nested objects', 400, /bad_request/, 'PUT', '/brought/deep', () => ({ body: Buffer.alloc(long, '{"a":') })],
    [
      'in nested keys',
      400,
      /bad_request/,
      'POST',
      '/brought/_all_docs',
      () => ({ body: Buffer.concat([Buffer.from('{"keys":'), Buffer.alloc(long, '[')]) }),
    ],
    [
      'in a nested selector',
      400,
      /bad_request/,
      'POST',
      '/brought/_find',
      () => ({ body: Buffer.concat([Buffer.from('{"selector":'), Buffer.alloc(3_900_000, '{"$not":')]) }),
    ],
    [
      'in a nested security object',
      400,
      /bad_request/,
      'PUT',
      '/brought/_security',
      () => ({ body: Buffer.alloc(2_000_000, '{"a":') }),
    ],
    [
      'in nested documents',
      400,
      /bad_request/,
      'POST',
      '/brought/_bulk_docs',
      () => ({
        body: Buffer.concat([Buffer.from('{"docs":[{"a":'), Buffer.alloc(long, '[')]),
      }),
    ],
    [
      'compressed',
      201,
      written,
      'POST',
      '/brought',
      () => ({
        body: gzipSync(JSON.stringify({ text: 'x'.repeat(long) })),
        headers: { 'content-encoding': 'gzip' },
      }),
    ],
    [
      'compressed, and too much',
      413,
      /the request entity is too large/,
      'POST',
      '/brought',
      () => ({
        body: gzipSync(Buffer.alloc(20 * long, 'x')),
        headers: { 'content-encoding': 'gzip' },
      }),
    ],
  ];

  test.for(attacks)('%s', { timeout }, (each) => attack(each));
});
