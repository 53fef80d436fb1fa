import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import type { DrainedAnswer, WholeAnswer } from './support/http-client.ts';
import { highestMemory, megabytes, noProcessFiles } from './support/process-use.ts';

/**
 * All that requests have brought and that is still worked on counts against one budget, `httpd/max_bytes_in_flight`. Beyond it requests
 * wait in the order in which they came, and those that would wait for too long get 503 with `Retry-After`.
 */
const BUDGET = 64_000_000;
/** Of memory, for each byte of the budget: texts and what is made from them, garbage included. */
const MEMORY_PER_BYTE = 6;
/**
 * A body counts four times its bytes, compressed ones by what they become. One for which the budget is too small goes by itself: so beyond
 * the budget there are this one and the garbage of the one before.
 */
const memoryOfTurns = (bytes: number) => BUDGET + 2 * 4 * bytes;
const timeout = 120_000;

let server: AttackedServer;

beforeEach(async () => {
  server = await AttackedServer.start({ settings: [`httpd/max_bytes_in_flight=${BUDGET}`] });
  await server.client.must(201, 'PUT', '/db');
});

afterEach(() => server.remove());

const headers = { 'content-type': 'application/json' };

/** Either done, or refused for the time being. */
function assertServedOrPutOff(answer: WholeAnswer): void {
  assert.include([200, 201, 503], answer.status, answer.summary);
  if (answer.status === 503) assertPutOff(answer);
}

function assertPutOff(answer: WholeAnswer): void {
  expect(answer.status, answer.summary).toBe(503);
  assert.match(`${answer.headers['retry-after']}`, /^\d+$/);
  assert.isString(at(answer.json, 'reason'));
}

describe.skipIf(noProcessFiles !== undefined)('memory stays within a multiple of the budget', () => {
  async function assertBounded<T>(work: () => Promise<T>, most = BUDGET * MEMORY_PER_BYTE): Promise<T> {
    const { result, before, highest } = await highestMemory(server.pid, work);
    assert.isAtMost(highest - before, most, `${megabytes(highest - before)} more, of ${megabytes(most)}`);
    return result;
  }

  test('with four uploads of 60 MB at once', { timeout }, async () => {
    const body = Buffer.from(`{"text":"${'x'.repeat(60_000_000)}"}`);
    const answers = await assertBounded(() =>
      Promise.all([1, 2, 3, 4].map(() => server.client.ask('POST', '/db', { body, headers }))),
    );
    answers.forEach(assertServedOrPutOff);
    expect(answers.some(({ status }) => status === 201)).toBe(true);
  });

  test('with twenty compressed uploads of 60 MB at once', { timeout: 240_000 }, async () => {
    const body = gzipSync(`{"text":"${'x'.repeat(60_000_000)}"}`);
    const compressed = { body, headers: { ...headers, 'content-encoding': 'gzip' } };
    const answers = await assertBounded(
      () => Promise.all(Array.from({ length: 20 }, () => server.client.ask('POST', '/db', compressed))),
      memoryOfTurns(60_000_000),
    );
    answers.forEach(assertServedOrPutOff);
    expect(answers.some(({ status }) => status === 201)).toBe(true);
  });

  test('with six lists of keys of 30 MB at once', { timeout: 240_000 }, async () => {
    const keys = Array.from({ length: 1_000_000 }, (_, n) => `an id of some length ${n}`);
    const body = Buffer.from(JSON.stringify({ keys }));
    const answers = await assertBounded(() =>
      Promise.all(Array.from({ length: 6 }, () => server.client.drain('POST', '/db/_all_docs', { body, headers }))),
    );
    const statuses = answers.map(({ status }: DrainedAnswer) => status);
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true);
    expect(statuses).toContain(200);
  });
});

describe('a request that holds most of the budget', () => {
  const most = 60_000_000;
  const other = Buffer.from(`{"text":"${'x'.repeat(20_000_000)}"}`);
  let holding: ClientRequest;

  beforeEach(async () => {
    const { hostname, port } = server.url;
    holding = httpRequest({
      hostname,
      port,
      method: 'POST',
      path: '/db',
      headers: { ...headers, 'content-length': `${most}` },
    });
    holding.on('error', () => {});
    // All but the end.
    const sent = new Promise((resolve) => holding.write(Buffer.alloc(most - 2, ' '), resolve));
    await sent;
  });

  afterEach(() => holding.destroy());

  test('gives way to another one when its client sends nothing more', { timeout }, async () => {
    const answered = new Promise<IncomingMessage>((resolve) => holding.on('response', resolve));
    expect((await server.client.ask('POST', '/db', { body: other, headers })).status).toBe(201);
    const { statusCode, headers: given } = await answered;
    expect([statusCode, given['retry-after'], given.connection]).toEqual([503, '5', 'close']);
  });

  test("doesn't delay small requests", { timeout }, async () => {
    await server.client.must(200, 'GET', '/db');
    await server.client.must(201, 'PUT', '/db/small', { json: {} });
  });

  test('lets the waiting request continue when it ends', { timeout }, async () => {
    const large = server.client.ask('POST', '/db', { body: other, headers });
    const answered = new Promise<ClientRequest>((resolve) => holding.on('response', () => resolve(holding)));
    holding.end('{}');
    await answered;
    expect((await large).status).toBe(201);
  });

  test('lets the waiting request continue when its client disconnects', { timeout }, async () => {
    const large = server.client.ask('POST', '/db', { body: other, headers });
    const closed = new Promise((resolve) => holding.on('close', resolve));
    holding.destroy();
    await closed;
    expect((await large).status).toBe(201);
  });
});

test("requests that each hold a part of the budget don't deadlock", { timeout }, async () => {
  const body = Buffer.from(`{"text":"${'x'.repeat(30_000_000)}"}`);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => server.client.ask('POST', '/db', { body, headers })),
  );
  answers.forEach(assertServedOrPutOff);
  expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThanOrEqual(2);
  expect((await server.client.ask('POST', '/db', { body, headers })).status).toBe(201);
});
