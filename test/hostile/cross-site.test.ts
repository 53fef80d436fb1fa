import { afterAll, assert, beforeAll, describe, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';

/**
 * A page of another site can send requests here, though it can't read the answers: simple ones without asking first. What a browser says
 * of where a request comes from is enough to refuse it, before anything is done for it. Clients that are no browsers say nothing of
 * the kind.
 */
let server: AttackedServer;
let rev: string;

beforeAll(async () => {
  server = await AttackedServer.start({ argv: ['--allow-host', 'db.example.org'] });
  await server.client.must(201, 'PUT', '/db');
  const written = await server.client.must(201, 'PUT', '/db/doc', { json: { n: 1 } });
  rev = `${at(written.json, 'rev')}`;
  const views = { v: { map: 'function (doc) { emit(doc.n, null); }' } };
  const updates = { touch: 'function (doc) { doc.touched = true; return [doc, "touched"]; }' };
  await server.client.must(201, 'PUT', '/db/_design/d', { json: { views, updates } });
});

afterAll(() => server.remove());

/** What a page may send without asking: a method and a type of a form. */
const simple: readonly (readonly [string, string, string])[] = [
  ['POST', '/db/_all_docs', '{"keys":["doc"]}'],
  ['POST', '/db/_revs_diff', '{"doc":["1-abc"]}'],
  ['POST', '/db/_missing_revs', '{"doc":["1-abc"]}'],
  ['POST', '/db/_bulk_get', '{"docs":[{"id":"doc"}]}'],
  ['POST', '/db/_design/d/_view/v', '{"keys":[1]}'],
  ['POST', '/db/_design/d/_view/v/queries', '{"queries":[{}]}'],
  ['POST', '/db/_all_docs/queries', '{"queries":[{}]}'],
  ['POST', '/db/_design/d/_update/touch/doc', ''],
  ['POST', '/_dbs_info', '{"keys":["db"]}'],
  ['GET', '/db/_all_docs?include_docs=true', ''],
  ['GET', '/db/doc', ''],
  ['HEAD', '/db/doc', ''],
];

/** What a browser says with a request of another site's page. */
const foreign: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
  ['Origin', { origin: 'https://evil.example' }],
  ['an opaque Origin', { origin: 'null' }],
  ['an Origin on another port of this machine', { origin: 'http://localhost:3000' }],
  ['Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }],
  ['both', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }],
];

describe.for(foreign)('a request with %s of another site is refused', ([, headers]) => {
  test.for(simple)('%s %s', async ([method, path, body]) => {
    const question = method === 'POST' ? { body, headers: { 'content-type': 'text/plain', ...headers } } : { headers };
    const answer = await server.client.ask(method, path, question);
    expect(answer.status, answer.summary).toBe(403);
    if (method !== 'HEAD') expect(at(answer.json, 'error')).toBe('forbidden');
    assert.isUndefined(answer.headers['access-control-allow-origin']);
  });
});

test('a cross-site request writes nothing, even if CORS allows reading', async () => {
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
  await server.client.must(403, 'PUT', '/db/new', { json: {}, headers });
  await server.client.must(403, 'DELETE', `/db/doc?rev=${rev}`, { headers });
  await server.client.must(403, 'POST', '/db/_bulk_docs', { json: { docs: [{ _id: 'new' }] }, headers });
  await server.client.must(403, 'PUT', '/another', { headers });
  await server.client.must(404, 'GET', '/db/new');
  expect(at((await server.client.must(200, 'GET', '/db/doc')).json, 'touched')).toBeUndefined();
  expect((await server.client.must(200, 'GET', '/_all_dbs')).json).toEqual(['db']);
});

test('a cross-site request is refused before its body arrives', async () => {
  const lines = ['POST /db/_all_docs HTTP/1.1', 'Host: localhost', 'Origin: https://evil.example', 'Connection: close'];
  const head = `${lines.join('\r\n')}\r\nContent-Type: text/plain\r\nContent-Length: 60000000\r\n\r\n`;
  assert.match(await server.client.sendRaw(`${head}{"keys":[`), /^HTTP\/1\.1 403 /);
});

test('a form submitted by a script of another site is refused', async () => {
  const headers = {
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
    'content-type': 'text/plain',
  };
  await server.client.must(403, 'POST', '/db/_design/d/_update/touch/doc', { body: 'a=b', headers });
});

describe('these requests still work beside the cross-site protection', () => {
  const passed: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['who says nothing', {}],
    [
      'a link that a person follows',
      {
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'navigate',
        'sec-fetch-dest': 'document',
        'sec-fetch-user': '?1',
      },
    ],
    [
      'an address that a person enters',
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    ],
    ['a page of the same origin', { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }],
  ];

  test.for(passed)('%s', async ([, headers]) => {
    await server.client.must(200, 'GET', '/db/doc', { headers });
  });

  test('a page of the same origin that writes', async () => {
    const headers = { origin: server.url.origin, 'sec-fetch-site': 'same-origin' };
    await server.client.must(200, 'POST', '/db/_all_docs', {
      body: '{}',
      headers: { ...headers, 'content-type': 'text/plain' },
    });
    await server.client.must(201, 'PUT', '/db/own', { json: {}, headers });
  });

  test('a page under the name by which a proxy publishes this server', async () => {
    const headers = { host: 'db.example.org', origin: 'https://db.example.org' };
    await server.client.must(200, 'POST', '/db/_all_docs', { body: '{}', headers });
  });

  test('curl with a content type of its own', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: '*/*' };
    await server.client.must(200, 'POST', '/db/_all_docs', { body: '{"keys":["doc"]}', headers });
    await server.client.must(200, 'POST', '/db/_revs_diff', { body: '{"doc":["1-abc"]}', headers });
  });
});
