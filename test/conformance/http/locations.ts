import { assert } from 'chai';
import { suite, test } from '../../support/conformance/suite.ts';

/** Characters of an address in a header (docs/http/answers.md#locations). */
const longest = 8_192;

export default suite('locations', [
  test("forwarding headers from a client that isn't a trusted proxy are ignored", async (t) => {
    for (const host of ['evil.example', 'evil.example/path?query', '"><script>', 'a@evil.example', '[::1']) {
      const headers = { 'x-forwarded-host': host, 'x-forwarded-proto': 'javascript', 'x-forwarded-ssl': 'on' };
      const answer = await t.at('PUT', `/doc-${encodeURIComponent(host)}`, { json: {}, headers });
      assert.equal(answer.header('location'), `${t.host.baseUrl}/${t.db}/doc-${encodeURIComponent(host)}`);
    }
  }),

  test('Location is percent-encoded', async (t) => {
    for (const id of ['größe', '語😀', 'a b"c<d>', '%41', 'new\nline', 'a/b?c#d', '\u0000\u001b', "it's"]) {
      const answer = await t.at('POST', '', { json: { _id: id } });
      const location = answer.header('location') ?? '';
      assert.match(location, /^[!-~]+$/);
      assert.equal(decodeURIComponent(location.slice(`${t.host.baseUrl}/${t.db}/`.length)), id);
    }
  }),

  test('Location is left out if it would be longer than 8 kB', async (t) => {
    const base = `${t.host.baseUrl}/${t.db}/`;
    const fitting = 'i'.repeat(longest - base.length);
    const answer = await t.at('POST', '', { json: { _id: fitting } });
    assert.equal(answer.header('location'), `${base}${fitting}`);
    for (const id of [`${fitting}i`, 'é'.repeat(4_096)]) {
      const other = await t.at('POST', '', { json: { _id: id } });
      assert.equal(other.status, 201);
      assert.isUndefined(other.header('location'));
    }
  }),

  test("an update function's response has no id header if the id is too long for a header", async (t) => {
    const make =
      'function (doc, req) { return [{ _id: JSON.parse(req.body) }, { body: "made", headers: { Location: req.query.to } }]; }';
    await t.put('_design/d', { updates: { make } });
    const make8kB = await t.at('POST', '/_design/d/_update/make?to=/%C3%A9', { json: 'é'.repeat(2_000) });
    assert.equal(make8kB.status, 201, make8kB.text);
    assert.isUndefined(make8kB.header('x-svc-id'));
    assert.equal(make8kB.header('location'), '/%C3%A9');
  }),

  test(
    'a GET of a design document with an encoded slash is answered directly if the redirection would be too long',
    async (t) => {
      const name = 'é'.repeat(1_400);
      await t.put(`_design/${encodeURIComponent(name)}`, {});
      const path = `/_design%2F${encodeURIComponent(name)}`;
      assert.equal((await t.get(path)).status, 200);
      assert.equal((await t.get('/_design%2Fshort')).status, 301);
    },
    { needs: ['manual-redirect', 'any-url'] },
  ),
]);
