import { afterEach, assert, beforeEach, expect, test } from 'vitest';
import { AttackedServer } from './support/attacked-server.ts';

/**
 * What a client or a document says may come into the log. It can neither begin a line of its own there nor steer the terminal of
 * whoever reads it: control characters are escaped.
 */
const forged = '2026-01-01T00:00:00.000Z [error] forged';
const nasty = `\n${forged}\r\n\u001b[2J\u001b]0;title\u0007\u0000\u009b31m\u2028x`;

let server: AttackedServer;

beforeEach(async () => {
  server = await AttackedServer.start({ argv: ['--log-level', 'debug'] });
  await server.client.must(201, 'PUT', '/db');
});

afterEach(() => server.remove());

/** The log has something of what was done, and in it nothing but plain lines. */
async function expectPlainLog(about: RegExp): Promise<void> {
  await server.stop();
  assert.match(server.log, about);
  expect(server.log.split('\n').filter((line) => line.startsWith(forged))).toEqual([]);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what may not be there.
  expect(server.log.match(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/g)).toBeNull();
  await server.startAgain();
}

test('log lines of a document on which a map function throws are short and escaped', async () => {
  const map = 'function (doc) { throw new Error(doc.text); }';
  await server.client.must(201, 'PUT', '/db/_design/d', { json: { views: { v: { map } } } });
  await server.client.must(201, 'POST', '/db', { json: { _id: `doc${nasty}`, text: `thrown${nasty}` } });
  await server.client.must(200, 'GET', '/db/_design/d/_view/v');
  await expectPlainLog(/thrown/);
});

test('log lines that a function writes are short and escaped', async () => {
  const map = 'function (doc) { log("said" + doc.text); emit(1); }';
  await server.client.must(201, 'PUT', '/db/_design/d', { json: { views: { v: { map } } } });
  await server.client.must(201, 'PUT', '/db/doc', { json: { text: nasty } });
  await server.client.must(200, 'GET', '/db/_design/d/_view/v');
  await expectPlainLog(/said/);
});

test('log lines with names of a design document and its functions are short and escaped', async () => {
  const views = { [`view${nasty}`]: { map: `function (doc) { throw ${JSON.stringify(`thrown${nasty}`)}; }` } };
  const name = encodeURIComponent(`named${nasty}`);
  await server.client.must(201, 'PUT', `/db/_design/${name}`, {
    json: { views, validate_doc_update: 'not a function' },
  });
  await server.client.ask('GET', `/db/_design/${name}/_view/${encodeURIComponent(`view${nasty}`)}`);
  await server.client.ask('PUT', '/db/doc', { json: { text: nasty } });
  await server.client.ask('GET', `/db/_design/${name}/_show/${encodeURIComponent(nasty)}`);
  await expectPlainLog(/^/);
});

test('log lines with addresses, methods and headers are short and escaped', async () => {
  const path = `/db/${encodeURIComponent(nasty)}`;
  for (const [method, target] of [
    ['GET', path],
    ['GET', `${path}?rev=${encodeURIComponent(nasty)}`],
    ['POST', `/db/_design/${encodeURIComponent(nasty)}/_view/x`],
    ['PUT', `/${encodeURIComponent(`db${nasty}`)}`],
  ] as const) {
    await server.client.ask(method, target, method === 'GET' ? {} : { json: {} });
  }
  await server.client.sendRaw(`GET /db\u001b[2J HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  await server.client.sendRaw(`GET /db HTTP/1.1\r\nHost: \u001b[2J\r\nX-Odd: \u001b[2J\r\nConnection: close\r\n\r\n`);
  await expectPlainLog(/^/);
});
