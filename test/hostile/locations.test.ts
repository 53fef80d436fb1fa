import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';

/** `Location` is percent-encoded ASCII of at most 8 kB, and leads nowhere that a stranger chose. */
let server: AttackedServer;

beforeEach(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
});

afterEach(() => server.remove());

describe('the Location header', () => {
  const hosts = [
    'evil.example',
    'evil.example:8080',
    'evil.example/path?query#hash',
    'user:password@evil.example',
    '"><script>alert(1)</script>',
    'evil.example, other.example',
    'localhost@evil.example',
    '[::1',
    'x'.repeat(9_000),
  ];

  test.for(hosts)('ignores a forwarded host from an untrusted client: %s', async (host) => {
    const headers = { 'x-forwarded-host': host };
    const answer = await server.client.must(201, 'PUT', '/db/doc', { json: {}, headers });
    expect(answer.headers.location).toBe(new URL('/db/doc', server.url).href);
    const bare = await server.client.must(201, 'PUT', '/other', { headers });
    expect(bare.headers.location).toBe(new URL('/other', server.url).href);
  });

  test.for(['javascript', 'https, http', 'https://evil.example/?', 'gopher'])(
    'ignores a forwarded protocol from an untrusted client: %s',
    async (protocol) => {
      const headers = { 'x-forwarded-proto': protocol };
      const answer = await server.client.must(201, 'PUT', '/db/doc', { json: {}, headers });
      assert.match(`${answer.headers.location}`, /^https?:\/\/127\.0\.0\.1:\d+\/db\/doc$/);
    },
  );
});

describe('the document id in the Location header', () => {
  const ids = ['größe', '語😀', 'a b"c<d>', '%41', 'new\nline', 'a/b?c#d', '\u0000\u001b', "it's"];

  test.for(ids)('is percent-encoded: %s', async (id) => {
    const answer = await server.client.must(201, 'POST', '/db', { json: { _id: id } });
    const location = `${answer.headers.location}`;
    assert.match(location, /^[!-~]+$/);
    assert.isTrue(location.startsWith(new URL('/db/', server.url).href), location);
    expect(decodeURIComponent(location.slice(new URL('/db/', server.url).href.length))).toBe(id);
    const read = await server.client.must(200, 'GET', new URL(location).pathname);
    expect(at(read.json, '_id')).toBe(id);
  });

  test('never makes it longer than 8 kB', async () => {
    for (const _id of ['i'.repeat(8_192), 'é'.repeat(4_096), '語'.repeat(2_700), '"'.repeat(8_000)]) {
      const answer = await server.client.must(201, 'POST', '/db', { json: { _id } });
      const location = answer.headers.location ?? '';
      assert.match(location, /^[!-~]*$/);
      assert.isAtMost(location.length, 8_192);
    }
  });

  test('never makes a head that ordinary clients refuse', async () => {
    const make = 'function (doc, req) { return [{ _id: JSON.parse(req.body)._id }, "made"]; }';
    await server.client.must(201, 'PUT', '/db/_design/d', { json: { updates: { make } } });
    for (const [n, character] of ['i', 'é', '語', '"'].entries()) {
      const _id = `${n}${character.repeat(Math.floor(8_000 / Buffer.byteLength(character)))}`;
      // `fetch` takes heads of 16 kB.
      const headers = { 'content-type': 'application/json' };
      const posted = await fetch(new URL('/db', server.url), {
        method: 'POST',
        headers,
        body: JSON.stringify({ _id }),
      });
      expect(posted.status).toBe(201);
      await posted.text();
      const body = JSON.stringify({ _id: `made${_id}` });
      const updated = await fetch(new URL('/db/_design/d/_update/make', server.url), { method: 'POST', headers, body });
      expect(updated.status).toBe(201);
      await updated.text();
    }
  });
});
