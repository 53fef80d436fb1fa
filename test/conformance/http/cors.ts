import { assert } from 'chai';
import type { Answer } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const APP = 'https://app.example';
const NEEDS = { needs: ['gateway', 'settings', 'forbidden-headers'] } as const;

type Keys = Readonly<Record<string, string>>;

function sharing(t: Toolkit, cors: Keys, more: Readonly<Record<string, Keys>> = {}): Promise<Toolkit> {
  return t.withSettings({ ...more, httpd: { enable_cors: 'true', ...more['httpd'] }, cors });
}

const listing = { origins: `https://other.example, ${APP}` };

/** Asked as a browser asks before a request that is not simple. */
function preflight(t: Toolkit, path: string, headers: Keys, origin = APP): Promise<Answer> {
  return t.request('OPTIONS', path, { headers: { origin, 'sec-fetch-site': 'cross-site', ...headers } });
}

function assertShared(answer: Answer, origin = APP): void {
  assert.equal(answer.header('access-control-allow-origin'), origin);
  assert.include((answer.header('vary') ?? '').split(', '), 'Origin');
}

function assertNotShared(answer: Answer): void {
  const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'));
  assert.deepEqual(names, []);
}

/** Pages of other origins ask (docs/http/requests.md#cors). */
export default suite('cors', [
  test(
    'nothing is shared unless CORS is enabled and the origin is listed',
    async (t) => {
      const off = await t.withSettings({ cors: listing });
      const answer = await off.request('GET', '/', { headers: { origin: APP } });
      assert.equal(answer.status, 403);
      assertNotShared(answer);
      assert.equal(answer.header('vary'), 'Accept');
      const on = await sharing(t, listing);
      for (const origin of ['https://evil.example', 'https://app.example.evil.example', 'http://app.example', 'null']) {
        const refused = await on.request('GET', '/', { headers: { origin } });
        assert.equal(refused.status, 403, origin);
        assertNotShared(refused);
        assert.equal(refused.header('vary'), 'Accept, Origin');
      }
      const own = await on.request('GET', '/');
      assert.equal(own.status, 200);
      assertNotShared(own);
      assert.equal(own.header('vary'), 'Accept, Origin');
    },
    NEEDS,
  ),

  test(
    "a listed origin can read and write, and can read the response's headers",
    async (t) => {
      const on = await sharing(t, listing);
      const headers = { origin: APP, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' };
      const written = await on.at('PUT', '/doc', { json: {}, headers });
      assert.equal(written.status, 201);
      assertShared(written);
      assert.equal(
        written.header('access-control-expose-headers'),
        'cache-control, content-type, location, server, etag',
      );
      const read = await on.get('/doc', headers);
      assert.equal(read.status, 200);
      assertShared(read);
      assert.isUndefined(read.header('access-control-allow-credentials'));
      assert.equal(read.header('access-control-expose-headers'), 'cache-control, content-type, server, etag');
      const rows = await on.get('/_all_docs', headers);
      assert.equal(rows.header('accept-query'), 'application/json');
      assert.equal(
        rows.header('access-control-expose-headers'),
        'cache-control, content-type, server, etag, accept-query',
      );
    },
    NEEDS,
  ),

  test(
    'error responses of all kinds are shared with a listed origin',
    async (t) => {
      const on = await sharing(t, { ...listing, credentials: 'true' });
      const headers = { origin: APP };
      for (const [method, path, status] of [
        ['GET', '/absent/doc', 404],
        ['GET', '/_uuids?count=x', 400],
        ['DELETE', '/_all_dbs', 405],
        ['GET', '/%FF', 400],
      ] as const) {
        const answer = await on.request(method, path, { headers });
        assert.equal(answer.status, status, path);
        assertShared(answer);
        assert.equal(answer.header('access-control-allow-credentials'), 'true');
      }
    },
    NEEDS,
  ),

  test(
    'a preflight is answered with what is allowed',
    async (t) => {
      const on = await sharing(t, { ...listing, credentials: 'true' });
      const answer = await preflight(on, `/${on.db}/doc`, {
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'content-type,authorization, If-None-Match',
      });
      assert.equal(answer.status, 204);
      assert.lengthOf(answer.bytes, 0);
      assertShared(answer);
      assert.equal(
        answer.header('access-control-allow-methods'),
        'GET, HEAD, POST, PUT, DELETE, TRACE, CONNECT, COPY, OPTIONS, QUERY',
      );
      assert.equal(answer.header('access-control-allow-headers'), 'content-type, authorization, If-None-Match');
      assert.equal(answer.header('access-control-max-age'), '12345');
      assert.equal(answer.header('access-control-allow-credentials'), 'true');
      assert.equal((await preflight(on, '/absent/doc', {})).status, 204);
    },
    NEEDS,
  ),

  test(
    'the headers of CouchDB clients and of the service are allowed by default',
    async (t) => {
      const on = await sharing(t, listing);
      for (const name of [
        'Accept',
        'Accept-Language',
        'Content-Type',
        'Expires',
        'Last-Modified',
        'Pragma',
        'Origin',
        'Content-Length',
        'If-Match',
        'Destination',
        'X-Requested-With',
        'X-Http-Method-Override',
        'Content-Range',
        'Authorization',
        'If-None-Match',
        'Range',
        'traceparent',
        'tracestate',
        'X-Couch-Full-Commit',
        'X-Svc-Full-Commit',
        'X-Svc-Persist',
      ]) {
        const answer = await preflight(on, '/', {
          'access-control-request-method': 'COPY',
          'access-control-request-headers': name,
        });
        assert.equal(answer.status, 204, name);
      }
    },
    NEEDS,
  ),

  test(
    'a preflight for more than is allowed gets no CORS headers, so that the browser refuses',
    async (t) => {
      const on = await sharing(t, { ...listing, methods: 'GET, POST', headers: 'X-Mine', max_age: '7' });
      const ask = (method: string, headers: string) =>
        preflight(on, '/', { 'access-control-request-method': method, 'access-control-request-headers': headers });
      assert.equal((await ask('PUT', 'x-mine')).status, 405);
      assert.equal((await ask('POST', 'authorization')).status, 405);
      const answer = await ask('POST', 'x-mine');
      assert.equal(answer.status, 204);
      assert.equal(answer.header('access-control-allow-methods'), 'GET, POST');
      assert.equal(answer.header('access-control-max-age'), '7');
      const foreign = await preflight(on, '/', { 'access-control-request-method': 'GET' }, 'https://evil.example');
      assert.equal(foreign.status, 403);
      assertNotShared(foreign);
    },
    NEEDS,
  ),

  test(
    'all origins can be listed for reading, and without an admin only origins listed by name can write',
    async (t) => {
      const on = await sharing(t, { origins: '*' });
      const read = await on.get('/_all_docs', { origin: APP });
      assert.equal(read.status, 200);
      assertShared(read);
      const written = await on.at('PUT', '/doc', { json: {}, headers: { origin: APP } });
      assert.equal(written.status, 403);
      assertShared(written);
      assert.equal((await on.get('/doc')).status, 404);
      const named = await sharing(t, { origins: `*, ${APP}` });
      assert.equal((await named.at('PUT', '/doc', { json: {}, headers: { origin: APP } })).status, 201);
    },
    NEEDS,
  ),

  test(
    'all origins together with credentials are refused as a setting',
    async (t) => {
      const on = await sharing(t, { origins: '*' });
      const answer = await on.request('PUT', '/_config/cors/credentials', { json: 'true' });
      assert.equal(answer.status, 400);
      assert.equal(at(answer.json, 'error'), 'bad_request');
      // Sections of single hosts are not looked at beforehand: nothing is shared then.
      const host = 'db.example.org';
      const mixed = await sharing(t, { origins: '*' }, { [`cors:${host}`]: { credentials: 'true' } });
      const refused = await mixed.request('GET', '/', { headers: { origin: APP, host } });
      assert.equal(refused.status, 403);
      assertNotShared(refused);
    },
    NEEDS,
  ),

  test(
    'a host can have its own CORS settings',
    async (t) => {
      const host = 'db.example.org';
      const on = await sharing(t, { origins: 'https://other.example' }, { [`cors:${host}`]: { origins: APP } });
      const there = await on.request('GET', '/', { headers: { origin: APP, host } });
      assert.equal(there.status, 200);
      assertShared(there);
      const elsewhere = await on.request('GET', '/', { headers: { origin: APP } });
      assert.equal(elsewhere.status, 403);
      const other = await on.request('GET', '/', { headers: { origin: 'https://other.example', host } });
      assert.equal(other.status, 403);
    },
    NEEDS,
  ),

  test(
    'a change of the CORS settings takes effect at once',
    async (t) => {
      const on = await t.withSettings({ cors: {} });
      const status = async () => (await on.request('GET', '/', { headers: { origin: APP } })).status;
      assert.equal(await status(), 403);
      await on.request('PUT', '/_config/cors/origins', { json: APP });
      await on.request('PUT', '/_config/httpd/enable_cors', { json: 'true' });
      assert.equal(await status(), 200);
      await on.request('DELETE', '/_config/cors/origins');
      assert.equal(await status(), 403);
    },
    NEEDS,
  ),

  test(
    'a cross-site request without a listed origin is refused even if CORS allows the page',
    async (t) => {
      const on = await sharing(t, listing);
      // An image or a form of any page: no origin, or one that is not listed.
      const form = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
      const answer = await on.get('/_all_docs', form);
      assert.equal(answer.status, 403);
      assertNotShared(answer);
    },
    NEEDS,
  ),
]);
