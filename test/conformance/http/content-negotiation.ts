import { assert } from 'chai';
import { suite, test } from '../../support/conformance/suite.ts';

const json = 'application/json';
const text = 'text/plain; charset=utf-8';

/** Who gets JSON as JSON, and who as plain text (docs/http/answers.md#content-negotiation). */
export default suite('content_negotiation', [
  ...[
    { accept: 'application/json', type: json },
    { accept: 'application/json, text/plain, */*', type: json },
    { accept: 'text/html, application/json', type: json },
    { accept: 'application/json;q=0.9', type: json },
    { accept: 'application/*', type: json },
    { accept: 'Application/JSON', type: json },
    { accept: '*/*', type: text },
    { accept: 'text/plain', type: text },
    { accept: 'text/html', type: text },
    { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', type: text },
    { accept: 'application/json;q=0, text/plain', type: text },
    { accept: 'application/jsonx', type: text },
  ].map(({ accept, type }) =>
    test(`Accept: ${accept} is answered with ${type}`, async (t) => {
      const answer = await t.get('', { accept });
      assert.equal(answer.header('content-type'), type);
      assert.propertyVal(answer.json, 'db_name', t.db);
    }),
  ),

  test(
    'a request without Accept is answered with plain text',
    async (t) => {
      assert.equal((await t.get('', { accept: '' })).header('content-type'), text);
    },
    { needs: ['bare-accept'] },
  ),

  test('documents, writes, rows and errors are negotiated alike', async (t) => {
    for (const [accept, type] of [
      [json, json],
      ['*/*', text],
    ] as const) {
      const headers = { accept };
      const written = await t.at('PUT', `/${type.length}`, { json: {}, headers });
      assert.equal(written.header('content-type'), type, 'write');
      assert.equal((await t.get(`/${type.length}`, headers)).header('content-type'), type, 'document');
      assert.equal((await t.get('/_all_docs', headers)).header('content-type'), type, 'rows');
      assert.equal((await t.get('/nobody', headers)).header('content-type'), type, 'error');
      assert.equal((await t.request('GET', '/', { headers })).header('content-type'), type, 'welcome');
    }
  }),

  test('the body is the same whatever its type', async (t) => {
    await t.put('doc', { ä: '日本' });
    const asJson = await t.get('/doc', { accept: json });
    const asText = await t.get('/doc', { accept: '*/*' });
    assert.equal(asJson.text, asText.text);
  }),
]);
