/** Peers that answer more than they were asked for. What the answers take of the memory is bounded, and the run fails with a reason. */

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { PeerMemory } from '../../../src/replication/peer-memory.ts';
import { begin, hostOf, local, must, newCore, remote, replicationOf, run } from './support.ts';

const BYTES = 8_388_608;
const INFO = '{"db_name":"db","update_seq":1}';

let server: Server;
let answers: Record<string, RequestListener>;
let asked: number;

beforeEach(async () => {
  answers = { '/db': (_request, response) => response.end(INFO) };
  asked = 0;
  server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://peer').pathname;
    asked++;
    const answer = answers[path];
    if (answer === undefined) response.writeHead(404).end('{"error":"not_found","reason":"missing"}');
    else answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function runFrom(more = {}, bytes = BYTES) {
  const core = await newCore();
  await must(core, 'PUT /db');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const memory = new PeerMemory(() => bytes);
  const replication = replicationOf(remote(`http://127.0.0.1:${port}/db`), local('db'), {
    retriesPerRequest: 0,
    ...more,
  });
  return { core, memory, replication, host: hostOf((request) => core.handle(request), { memory }) };
}

/** Writes a piece again and again, as long as the other side reads. */
function endless(first: string, piece: string): RequestListener {
  return (_request, response) => {
    response.on('error', () => undefined);
    response.write(first);
    const text = piece.repeat(Math.ceil(65_536 / piece.length));
    const more = () => {
      while (!response.destroyed && response.write(text));
    };
    response.on('drain', more);
    more();
  };
}

describe('a source with an endless response', () => {
  test.each([
    ['changes without an end', '/db/_changes', '{"results":[', '{},', 'not complete JSON'],
    [
      'more changes than were asked for',
      '/db/_changes',
      '{"results":[',
      '{"seq":1,"id":"a","changes":[{"rev":"1-a"}]},',
      'more than 500',
    ],
    ['a change without an end', '/db/_changes', '{"results":[{"id":"', 'x', 'memory'],
    ['members without an end', '/db/_changes', '{', '"a":1,', 'not complete JSON'],
    ['information without an end', '/db', '{', '"a":1,', 'longer than'],
    ['a checkpoint without an end', '/db/_local/checkpoint', '{"history":[', '{},', 'memory'],
  ])('that answers %s fails the run', async (_, path, first, piece, reason) => {
    answers[path] = endless(first, piece);
    const { host, replication, memory } = await runFrom();
    await expect(run(host, replication)).rejects.toMatchObject({
      isRetryable: true,
      reason: expect.stringContaining(reason),
    });
    expect(memory.used).toBe(0);
  });

  test('that answers a million empty rows, compressed, fails the run', async () => {
    const rows = gzipSync(`{"results":[${'[],'.repeat(1_000_000)}`);
    answers['/db/_changes'] = (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(rows);
    const { host, replication } = await runFrom();
    await expect(run(host, replication)).rejects.toMatchObject({
      reason: expect.stringContaining('not complete JSON'),
    });
  });

  test('with thousands of invalid revisions in a row fails the run', async () => {
    answers['/db/_changes'] = (_request, response) =>
      response.end(`{"results":[{"seq":1,"id":"a","changes":[${'[],'.repeat(1_000)}[]]}],"last_seq":1}`);
    const { host, replication } = await runFrom();
    await expect(run(host, replication)).rejects.toMatchObject({
      reason: expect.stringContaining('unusable response'),
    });
  });

  test('whose feed never ends its line fails the run', async () => {
    answers['/db/_changes'] = (request, response) =>
      request.url?.includes('feed=normal') === true
        ? response.end('{"results":[],"last_seq":1}')
        : endless('{"seq":', '1')(request, response);
    const { host, replication, memory } = await runFrom({ continuous: true });
    const { result } = begin(host, replication);
    await expect(result).rejects.toMatchObject({ isRetryable: true, reason: expect.stringContaining('memory') });
    expect(memory.used).toBe(0);
  });

  test('whose document with attachments never ends fails the run at the limit', async () => {
    const rev = `1-${'a'.repeat(32)}`;
    const stub = { stub: true, length: 100_000, digest: `md5-${'A'.repeat(22)}==`, revpos: 1, content_type: 'x/y' };
    const document = { _id: 'a', _rev: rev, _revisions: { start: 1, ids: ['a'.repeat(32)] }, _attachments: { stub } };
    const json = (value: unknown): RequestListener => {
      return (_request, response) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    };
    answers['/db/_changes'] = json({ results: [{ seq: 1, id: 'a', changes: [{ rev }] }], last_seq: 1 });
    answers['/db/_bulk_get'] = json({ results: [{ id: 'a', docs: [{ ok: document }] }] });
    answers['/db/a'] = (request, response) => {
      response.setHeader('content-type', 'multipart/related; boundary="B"');
      endless('--B\r\ncontent-type: application/json\r\n\r\n{"pad":"', '€')(request, response);
    };
    const { host, replication, memory } = await runFrom({}, 2_097_152);
    await expect(run(host, replication)).rejects.toMatchObject({ reason: expect.stringContaining('memory') });
    expect(memory.used).toBe(0);
  });

  test('that refuses with an endless reason fails the run', async () => {
    answers['/db/_changes'] = (request, response) => {
      response.writeHead(500);
      endless('{"error":"', 'x')(request, response);
    };
    const { host, replication } = await runFrom();
    await expect(run(host, replication)).rejects.toMatchObject({ reason: expect.stringContaining('500') });
  });

  test('with a document larger than the memory reports it as refused', async () => {
    const rows = '{"results":[{"seq":1,"id":"a","changes":[{"rev":"1-a"}]}],"last_seq":1}';
    answers['/db/_changes'] = (_request, response) => response.end(rows);
    answers['/db/_bulk_get'] = endless('{"results":[{"id":"a","docs":[{"ok":{"_id":"a","x":"', 'x');
    const { host, replication, memory } = await runFrom();
    await expect(run(host, replication)).rejects.toMatchObject({ reason: expect.stringContaining('memory') });
    expect([memory.used, asked > 0]).toEqual([0, true]);
  });
});

test('a target that answers more rows than documents were sent fails the run', async () => {
  answers['/db/_revs_diff'] = (_request, response) => response.end('{"a":{"missing":["1-a"]}}');
  answers['/db/_bulk_docs'] = (_request, response) => response.end(`[${'{},'.repeat(1_000)}{}]`);
  const { core, host, replication } = await runFrom();
  await must(core, 'POST /db/_bulk_docs', { new_edits: false, docs: [{ _id: 'a', _rev: '1-a' }] });
  const { source: target, target: source } = replication;
  await expect(run(host, { ...replication, source, target })).rejects.toMatchObject({
    reason: expect.stringContaining('more than 1 rows'),
  });
});
