import { afterEach, assert, beforeEach, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import type { WholeAnswer } from './support/http-client.ts';
import { Neighbour } from './support/neighbour.ts';
import { highestMemory, megabytes, noProcessFiles, processorSeconds } from './support/process-use.ts';

/** A document of a few kilobytes can have thousands of attachments of some bytes. They cost little each, and no more the more there are. */
const timeout = 280_000;
/** `httpd/max_bytes_in_flight`, and a hundred megabytes. */
const MAX_MEMORY = 356 * 2 ** 20;
/** Of processor time, which hardly depends on what else the machine does. */
const MAX_TURN_MS = 100;

let server: AttackedServer;
let neighbour: Neighbour;

beforeEach(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
  neighbour = await Neighbour.moveIn(server);
});

afterEach(async () => {
  await neighbour.moveOut();
  await server.remove();
});

const data = (n: number) => Buffer.from(String(n).padStart(6)).toString('base64');

function inline(count: number, content_type = 'application/octet-stream') {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`a${n}`, { content_type, data: data(n) }]));
}

async function measured(what: string, work: () => Promise<WholeAnswer>): Promise<WholeAnswer> {
  const processorBefore = processorSeconds(server.pid);
  const { result, before, highest } = await highestMemory(server.pid, () => neighbour.during(work));
  const { result: answer, latencies } = result;
  const quiet = await neighbour.quiet();
  const [used, wait] = [processorSeconds(server.pid) - processorBefore, latencies.longest];
  const turn = latencies.longestTurn ?? 0;
  console.log(
    `${what}: ${answer.status}, ${megabytes(highest - before)} more, ${used.toFixed(1)} s of a processor, a neighbour waited ${wait.toFixed(0)} ms at most, beside an idle server ${quiet.longest.toFixed(0)} ms; the longest turn took ${turn.toFixed(0)} ms of a processor`,
  );
  assert.isAtMost(highest - before, MAX_MEMORY, megabytes(highest - before));
  assert.isAtMost(turn, MAX_TURN_MS);
  return answer;
}

test.skipIf(noProcessFiles !== undefined)('50,000 attachments of six bytes are stored', { timeout }, async () => {
  const json = { _attachments: inline(50_000) };
  const answer = await measured('50,000 inline attachments', () => server.client.ask('PUT', '/db/many', { json }));
  expect(answer.status, answer.summary).toBe(201);
  const read = await server.client.must(200, 'GET', '/db/many/a49999');
  expect(read.text).toBe(' 49999');
});

test.skipIf(noProcessFiles !== undefined)(
  'eight times as many attachments cost eight times the time',
  { timeout },
  async () => {
    const costOf = async (id: string, count: number, type: string) => {
      const before = processorSeconds(server.pid);
      await server.client.must(201, 'PUT', `/db/${id}`, { json: { _attachments: inline(count, type) } });
      return processorSeconds(server.pid) - before;
    };
    for (const type of ['image/png', 'text/plain']) {
      await costOf(`warm-${type.slice(0, 4)}`, 2_000, type);
      const few = await costOf(`few-${type.slice(0, 4)}`, 2_000, type);
      const many = await costOf(`more-${type.slice(0, 4)}`, 16_000, type);
      console.log(`of ${type}: ${few.toFixed(2)} s of a processor for 2,000, ${many.toFixed(2)} s for 16,000`);
      assert.isAtMost(many, 20 * Math.max(few, 0.2));
    }
  },
);

test.skipIf(noProcessFiles !== undefined)(
  '50,000 attachments can be sent after a document, in any order, and in a form',
  { timeout },
  async () => {
    const count = 10_000;
    const _attachments = Object.fromEntries(
      Array.from({ length: count }, (_, n) => [`a${n}`, { follows: true, length: 6, content_type: 'image/png' }]),
    );
    const part = (n: number) =>
      `\r\n--b\r\ncontent-disposition: attachment; filename="a${n}"\r\n\r\n${String(n).padStart(6)}`;
    const backwards = Array.from({ length: count }, (_, n) => part(count - 1 - n)).join('');
    const related = `--b\r\ncontent-type: application/json\r\n\r\n${JSON.stringify({ _attachments })}${backwards}\r\n--b--`;
    const ofType = (type: string) => ({ 'content-type': `${type};boundary=b`, referer: server.url.href });
    const byParts = await measured('10,000 parts behind a document', () =>
      server.client.ask('PUT', '/db/related', { body: related, headers: ofType('multipart/related') }),
    );
    expect(byParts.status, byParts.summary).toBe(201);
    expect((await server.client.must(200, 'GET', '/db/related/a7')).text).toBe('     7');
    const file = (n: number) =>
      `--b\r\ncontent-disposition: form-data; name="_attachments"; filename="a${n}"\r\n\r\n${String(n).padStart(6)}\r\n`;
    const form = `${Array.from({ length: count }, (_, n) => file(n)).join('')}--b--`;
    const byForm = await measured('10,000 files of a form', () =>
      server.client.ask('POST', '/db/form', { body: form, headers: ofType('multipart/form-data') }),
    );
    expect(byForm.status, byForm.summary).toBe(201);
  },
);

test.skipIf(noProcessFiles !== undefined)('more attachments than the limit are refused', { timeout }, async () => {
  const one = await measured('a document with 50,001', () =>
    server.client.ask('PUT', '/db/many', { json: { _attachments: inline(50_001) } }),
  );
  expect([one.status, at(one.json, 'error')]).toEqual([413, 'too_large']);
  const half = inline(25_001);
  const both = await measured('two documents with 25,001 each', () =>
    server.client.ask('POST', '/db/_bulk_docs', {
      json: {
        docs: [
          { _id: 'a', _attachments: half },
          { _id: 'b', _attachments: half },
        ],
      },
    }),
  );
  expect([both.status, at(both.json, 'error')]).toEqual([413, 'too_large']);
  expect(at((await server.client.must(200, 'GET', '/db')).json, 'doc_count')).toBe(0);
});

test.skipIf(noProcessFiles !== undefined)(
  'ten documents with 50,000 attachments at once share the memory',
  { timeout },
  async () => {
    const json = { _attachments: inline(10_000) };
    const statuses: number[] = [];
    await measured('ten documents with 10,000 each', async () => {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, n) => server.client.ask('PUT', `/db/doc${n}`, { json })),
      );
      statuses.push(...answers.map(({ status }) => status));
      return answers[0] ?? assert.fail('no answer');
    });
    expect(statuses.every((status) => status === 201 || status === 503)).toBe(true);
    expect(statuses).toContain(201);
  },
);
