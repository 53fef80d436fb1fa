import { assert } from 'chai';
import { assertError, assertWritten } from '../../support/conformance/answer.ts';
import { gzip } from '../../support/conformance/gzip.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** Compressed request bodies (docs/http/requests.md#request-bodies). */
export default suite('gzip', [
  test('a gzipped body is inflated', async (t) => {
    const body = await gzip('{"text":"Größe 😀"}');
    for (const [id, encoding] of [
      ['doc', 'gzip'],
      ['loud', 'GZip'],
    ] as const) {
      const headers = { 'content-encoding': encoding };
      assertWritten(await t.at('PUT', `/${id}`, { body, headers }), 201, id);
      assert.deepInclude((await t.get(`/${id}`)).json, { text: 'Größe 😀' });
    }
  }),

  test('a large gzipped bulk request is inflated', async (t) => {
    const docs = Array.from({ length: 1000 }, (_, n) => ({ _id: `${n}`, text: 'lorem ipsum '.repeat(20) }));
    const headers = { 'content-encoding': 'gzip', 'content-type': 'application/json' };
    const answer = await t.at('POST', '/_bulk_docs', { body: await gzip(JSON.stringify({ docs })), headers });
    assert.equal(answer.status, 201);
    assert.deepInclude(await t.info(), { doc_count: 1000 });
  }),

  test('identity is accepted as an encoding without effect', async (t) => {
    const headers = { 'content-encoding': 'identity' };
    assertWritten(await t.at('PUT', '/doc', { body: '{"n":1}', headers }), 201, 'doc');
  }),

  test('any other encoding is refused', async (t) => {
    for (const encoding of ['br', 'deflate', 'compress', 'x-own']) {
      const answer = await t.at('PUT', '/doc', { body: '{}', headers: { 'content-encoding': encoding } });
      assertError(answer, 415, 'bad_content_type', `${encoding} is not a supported content encoding.`);
    }
    assert.deepInclude(await t.info(), { doc_count: 0 });
  }),

  test("a body that isn't gzip although its header says so is refused", async (t) => {
    const headers = { 'content-encoding': 'gzip' };
    assert.equal((await t.at('PUT', '/doc', { body: '{"n":1}', headers })).status, 400);
    const cut = (await gzip('{"n":1}')).slice(0, -6);
    assert.equal((await t.at('PUT', '/doc', { body: cut, headers })).status, 400);
    assert.deepInclude(await t.info(), { doc_count: 0 });
  }),

  test(
    'the size limit applies to the inflated body',
    async (t) => {
      const small = await t.withSettings({ svc: { max_document_size: '100000' } });
      const body = await gzip(`{"text":"${'x'.repeat(10_000_000)}"}`);
      assert.isBelow(body.length, 100_000);
      const answer = await small.at('PUT', '/doc', { body, headers: { 'content-encoding': 'gzip' } });
      assert.deepEqual([answer.status, at(answer.json, 'error')], [413, 'too_large']);
    },
    { needs: ['settings'] },
  ),
]);
