import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { noProcessFiles } from './support/process-use.ts';

/** Bodies of 60 MB that are one long thing: none of them is gone over in one go. Each row is held to the bounds of all. */
const LENGTH = 60_000_000;
const timeout = 120_000;

const text = () => 'x'.repeat(LENGTH);
const spaces = () => ' '.repeat(LENGTH);
const numbers = () => `${'1.5,'.repeat(LENGTH / 4 - 1)}1`;
const backslashes = () => '\\\\'.repeat(LENGTH / 2);
const escapes = () => '\\u0041'.repeat(LENGTH / 6);
const digits = () => '1'.repeat(LENGTH);
const members = () => Array.from({ length: 1_000_000 }, (_, n) => `"m${n}":1`).join(',');

const requests: readonly (readonly [what: string, path: string, status: number, body: () => string])[] = [
  ['space before a document', '/db', 201, () => `${spaces()}{}`],
  ['space in a document', '/db', 201, () => `{"a":1${spaces()}}`],
  ['space behind a document', '/db', 201, () => `{}${spaces()}`],
  ['space before a list of documents', '/db/_bulk_docs', 201, () => `{"docs":${spaces()}[{}]}`],
  ['space in a list of documents', '/db/_bulk_docs', 201, () => `{"docs":[${spaces()}{}]}`],
  ['space in a document of a list', '/db/_bulk_docs', 201, () => `{"docs":[{"a":1${spaces()}}]}`],
  ['space before keys', '/db/_all_docs', 200, () => `{"keys":${spaces()}["a"]}`],
  ['space before revisions', '/db/_revs_diff', 200, () => `{"a":["1-a"${spaces()}]}`],
  ['a name', '/db', 400, () => `{"${text()}":1}`],
  ['a name with escapes', '/db', 400, () => `{"${backslashes()}":1}`],
  ['digits', '/db', 400, () => `{"a":${digits()}}`],
  ['backslashes', '/db', 201, () => `{"a":"${backslashes()}"}`],
  ['a name in a list of documents', '/db/_bulk_docs', 400, () => `{"docs":[{"${text()}":1}]}`],
  ['digits in a list of documents', '/db/_bulk_docs', 400, () => `{"docs":[{"a":${digits()}}]}`],
  ['numbers in a list of documents', '/db/_bulk_docs', 201, () => `{"docs":[{"a":[${numbers()}]}]}`],
  ['a text in a list of documents', '/db/_bulk_docs', 201, () => `{"docs":[{"a":"${text()}"}]}`],
  ['backslashes in a list of documents', '/db/_bulk_docs', 201, () => `{"docs":[{"a":"${backslashes()}"}]}`],
  ['escapes in a list of documents', '/db/_bulk_docs', 201, () => `{"docs":[{"a":"${escapes()}"}]}`],
  ['members in a list of documents', '/db/_bulk_docs', 201, () => `{"docs":[{${members()}}]}`],
  ['numbers before a list of documents', '/db/_bulk_docs', 201, () => `{"a":[${numbers()}],"docs":[{}]}`],
  ['numbers behind a list of documents', '/db/_bulk_docs', 201, () => `{"docs":[{}],"a":[${numbers()}]}`],
  ['a text behind a list of documents', '/db/_bulk_docs', 201, () => `{"docs":[{}],"a":"${text()}"}`],
  ['two lists of documents', '/db/_bulk_docs', 413, () => `{"docs":[{}],"docs":[{"a":[${numbers()}]}]}`],
  ['a revision', '/db/_revs_diff', 413, () => `{"a":["${text()}"]}`],
  ['a revision to purge', '/db/_purge', 413, () => `{"a":["${text()}"]}`],
  ['an id of a feed', '/db/_changes?filter=_doc_ids', 413, () => `{"doc_ids":["${text()}"]}`],
  ['a key', '/db/_all_docs', 413, () => `{"keys":["${text()}"]}`],
  ['an id with revisions', '/db/_revs_diff', 413, () => `{"${text()}":["1-a"]}`],
  ['an id to read', '/db/_bulk_get', 413, () => `{"docs":[{"id":"${text()}"}]}`],
];

let server: AttackedServer;
let neighbour: Neighbour;

beforeAll(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
  neighbour = await Neighbour.moveIn(server);
});

afterAll(async () => {
  await neighbour.moveOut();
  await server.remove();
});

describe.skipIf(noProcessFiles !== undefined)('a body of 60 MB takes bounded memory', () => {
  test.for(requests)('%s: %s', { timeout }, async ([what, path, status, make]) => {
    const body = Buffer.from(make());
    const headers = { 'content-type': 'application/json' };
    const { result } = await attack(server, neighbour, `${what}: ${path}`, {
      work: () => server.client.drain('POST', path, { body, headers }),
      outcome: (answer) => `${answer.status}`,
    });
    expect(result.status, result.tail).toBe(status);
  });
});
