import { afterEach, beforeEach, expect, test } from 'vitest';
import { arrayAt, at, stringAt } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { noProcessFiles } from './support/process-use.ts';

/** A document with tens of thousands of attachments is read, edited, copied, replicated and deleted in turns with others. */
const timeout = 290_000;
const COUNT = 30_000;

let server: AttackedServer;
/** Of the document's winner. */
let rev: string;

const inline = Object.fromEntries(
  Array.from({ length: COUNT }, (_, n) => [
    `a${n}`,
    { content_type: 'image/png', data: Buffer.from(String(n).padStart(8)).toString('base64') },
  ]),
);

beforeEach(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
  await server.client.must(201, 'PUT', '/other');
  const written = await server.client.must(201, 'PUT', '/db/doc', { json: { _attachments: inline } });
  rev = stringAt(written.json, 'rev');
}, timeout);

afterEach(() => server.remove());

const related = { headers: { accept: 'multipart/related' } };
const mixed = { headers: { accept: 'multipart/mixed' } };
const json = { headers: { accept: 'application/json' } };

const reads = [
  ['a document', 'GET', '/db/doc?attachments=true', json],
  ['what is newer than a revision', 'GET', '/db/doc?att_encoding_info=true', json],
  ['a document with parts', 'GET', '/db/doc?attachments=true', related],
  ['all revisions', 'GET', '/db/doc?open_revs=all&attachments=true', mixed],
  ['one attachment', 'GET', '/db/doc/a29999', {}],
  ['a list', 'GET', '/db/_all_docs?include_docs=true&attachments=true', {}],
  ['changes', 'GET', '/db/_changes?include_docs=true&attachments=true', {}],
  [
    'those that are named',
    'POST',
    '/db/_bulk_get?attachments=true',
    { json: { docs: [{ id: 'doc' }, { id: 'doc' }] } },
  ],
] as const;

test.skipIf(noProcessFiles !== undefined)('30,000 attachments are read', { timeout }, async () => {
  for (const [, method, path, options] of reads) await server.client.must(200, method, path, options);
});

test.skipIf(noProcessFiles !== undefined)(
  '30,000 attachments are kept by edits, and removed with their document',
  { timeout },
  async () => {
    const { client } = server;
    const read = await client.must(200, 'GET', '/db/doc');
    const document = Object(read.json);
    const put = await client.must(201, 'PUT', '/db/doc', { json: { ...document, n: 1 } });
    rev = stringAt(put.json, 'rev');
    const bulk = await client.must(201, 'POST', '/db/_bulk_docs', {
      json: { docs: [{ ...document, _rev: rev, n: 2 }] },
    });
    rev = stringAt(bulk.json, 0, 'rev');
    const added = await client.must(201, 'PUT', `/db/doc/one-more?rev=${rev}`, { body: 'text' });
    const less = await client.must(200, 'DELETE', `/db/doc/one-more?rev=${stringAt(added.json, 'rev')}`);
    const revisions = { start: 6, ids: ['a', stringAt(less.json, 'rev').slice(2)] };
    const replicated = { ...document, _rev: '6-a', _revisions: revisions };
    await client.must(201, 'POST', '/db/_bulk_docs', { json: { new_edits: false, docs: [replicated] } });
    await client.must(201, 'COPY', '/db/doc', { headers: { destination: 'copy' } });
    await client.must(202, 'POST', '/db/_compact', { json: {} });
    await client.must(200, 'DELETE', '/db/doc?rev=6-a');
    await client.must(200, 'DELETE', '/db');
  },
);

test.skipIf(noProcessFiles !== undefined)('functions see a document with 30,000 attachments', { timeout }, async () => {
  const { client } = server;
  const functions = {
    validate_doc_update: 'function () {}',
    updates: { u: 'function (doc) { return [doc, "updated"]; }' },
    shows: { s: 'function (doc) { return doc._id; }' },
  };
  await client.must(201, 'PUT', '/db/_design/d', { json: functions });
  await client.must(200, 'GET', '/db/_design/d/_show/s/doc');
  await client.must(201, 'PUT', '/db/_design/d/_update/u/doc');
});

test.skipIf(noProcessFiles !== undefined)(
  'a database with 30,000 attachments per document is replicated',
  { timeout },
  async () => {
    const answer = await server.client.must(200, 'POST', '/_replicate', { json: { source: 'db', target: 'other' } });
    expect(at(arrayAt(answer.json, 'history')[0], 'docs_written')).toBe(1);
  },
);
