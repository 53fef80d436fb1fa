import { assert } from 'chai';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** What a page may send to any server without being asked: the methods and types of a form. */
const simple: readonly (readonly [string, string, { readonly body: string } | undefined])[] = [
  ['POST', '/_all_docs', { body: '{"keys":["doc"]}' }],
  ['POST', '/_revs_diff', { body: '{"doc":["1-abc"]}' }],
  ['POST', '/_bulk_get', { body: '{"docs":[{"id":"doc"}]}' }],
  ['GET', '/_all_docs?include_docs=true', undefined],
  ['GET', '/doc', undefined],
  ['HEAD', '/doc', undefined],
];

async function assertRefused(t: Toolkit, headers: Readonly<Record<string, string>>): Promise<void> {
  for (const [method, path, body] of simple) {
    const answer = await t.at(method, path, { ...body, headers: { 'content-type': 'text/plain', ...headers } });
    assert.equal(answer.status, 403, `${method} ${path} with ${JSON.stringify(headers)}`);
    assert.isUndefined(answer.header('access-control-allow-origin'));
    if (method !== 'HEAD') assert.equal(at(answer.json, 'error'), 'forbidden');
  }
}

async function assertTaken(t: Toolkit, headers: Readonly<Record<string, string>>): Promise<void> {
  for (const [method, path, body] of simple) {
    const answer = await t.at(method, path, { ...body, headers: { 'content-type': 'text/plain', ...headers } });
    assert.equal(answer.status, 200, `${method} ${path} with ${JSON.stringify(headers)}`);
  }
}

const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

/** A page of another site can't read what is answered. It can't have anything done either. */
export default suite('cross_site', [
  test(
    'a request from a page of another origin is refused',
    async (t) => {
      await t.put('doc', {});
      await assertRefused(t, { origin: 'https://evil.example' });
      await assertRefused(t, { origin: 'null' });
      await assertRefused(t, { origin: '' });
      await assertRefused(t, { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' });
      await assertRefused(t, {
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': 'no-cors',
        'sec-fetch-dest': 'image',
      });
      // A page that shows the answer in a frame of its own.
      await assertRefused(t, { ...link, 'sec-fetch-dest': 'iframe' });
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'another port, and another name of the same machine, are other origins',
    async (t) => {
      await t.put('doc', {});
      const own = new URL(t.host.baseUrl);
      await assertRefused(t, { origin: `${own.protocol}//${own.hostname}:1` });
      await assertRefused(t, { host: 'localhost:5984', origin: 'http://127.0.0.1:5984' });
      await assertTaken(t, { host: 'localhost:5984', origin: 'http://localhost:5984' });
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'requests from a page of the same origin, and without origin headers, are answered',
    async (t) => {
      await t.put('doc', {});
      const { origin } = new URL(t.host.baseUrl);
      await assertTaken(t, {});
      await assertTaken(t, { origin });
      await assertTaken(t, { origin: origin.toUpperCase() });
      await assertTaken(t, { origin, 'sec-fetch-site': 'same-origin' });
      await assertTaken(t, { 'sec-fetch-site': 'same-site' });
      await assertTaken(t, { 'sec-fetch-site': 'none' });
      // A proxy asks under another name than the browser, which knows better.
      await assertTaken(t, { origin: 'https://app.example', 'sec-fetch-site': 'same-origin' });
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'a link that the user follows is answered, and a form of another site is refused',
    async (t) => {
      await t.put('doc', {});
      assert.equal((await t.get('/doc', link)).status, 200);
      const form = { ...link, origin: 'https://evil.example', 'content-type': 'text/plain' };
      assert.equal((await t.at('POST', '/_all_docs', { body: '{}', headers: form })).status, 403);
      const overridden = { ...form, 'x-http-method-override': 'GET' };
      assert.equal((await t.at('POST', '/doc', { body: '', headers: overridden })).status, 403);
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'writes and preflights from another site are refused, and nothing is written',
    async (t) => {
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      assert.equal((await t.at('PUT', '/doc', { json: {}, headers })).status, 403);
      assert.equal((await t.at('POST', '/_bulk_docs', { json: { docs: [{}] }, headers })).status, 403);
      assert.equal((await t.at('DELETE', '', { headers })).status, 403);
      assert.equal((await t.at('OPTIONS', '/doc', { headers })).status, 403);
      assert.deepInclude(await t.info(), { doc_count: 0, update_seq: 0 });
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'a script of another site is answered if JSONP is enabled',
    async (t) => {
      const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' };
      assert.equal((await t.request('GET', '/?callback=show', { headers })).status, 403);
      const permitting = await t.withSettings({ httpd: { allow_jsonp: 'true' } });
      const answer = await permitting.request('GET', '/?callback=show', { headers });
      assert.equal(answer.status, 200);
      assert.match(answer.text, /^\/\* svc \*\/show\(/);
      assert.equal((await permitting.request('GET', '/', { headers })).status, 403);
      for (const destination of ['image', 'iframe', 'empty']) {
        const other = { ...headers, 'sec-fetch-dest': destination };
        assert.equal((await permitting.request('GET', '/?callback=show', { headers: other })).status, 403, destination);
      }
    },
    { needs: ['forbidden-headers', 'settings'] },
  ),
]);
