import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const FORM = 'multipart/form-data; boundary=b';

const field = (name: string, text: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
const file = (name: string, text: string) =>
  `--b\r\nContent-Disposition: form-data; name="_attachments"; filename="${name}"\r\nContent-Type: x/y\r\n\r\n${text}\r\n`;

function post(t: Toolkit, path: string, parts: readonly string[], more: Record<string, string> = {}) {
  const headers = { 'content-type': FORM, referer: `${t.baseUrl}/page`, ...more };
  return t.at('POST', path, { body: `${parts.join('')}--b--`, headers });
}

/** Files by an HTML form (docs/http/documents.md#form-uploads). */
export default suite('form_submit', [
  test(
    'a form adds files to an existing document',
    async (t) => {
      const rev = await t.put('doc', { n: 1, _attachments: { kept: { data: 'eA==' }, old: { data: 'eA==' } } });
      const answer = await post(t, '/doc', [
        file('old', 'new'),
        file('a b.txt', 'hello'),
        file('', ''),
        field('_rev', rev),
      ]);
      assert.equal(answer.status, 201, answer.text);
      assert.match(stringAt(answer.json, 'rev'), /^2-/);
      const { json } = await t.get('/doc');
      assert.deepInclude(json, { n: 1 });
      assert.sameMembers(Object.keys(Object(at(json, '_attachments'))), ['kept', 'old', 'a b.txt']);
      assert.equal((await t.get('/doc/old')).text, 'new');
      assert.equal((await t.get('/doc/a%20b.txt')).text, 'hello');
      assert.equal((await t.get('/doc/a%20b.txt')).header('content-type'), 'x/y');
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'a form adds files to the document in its field _doc',
    async (t) => {
      const answer = await post(t, '/doc', [field('_doc', '{"n":2}'), file('a', 'hello')]);
      assert.equal(answer.status, 201, answer.text);
      const { json } = await t.get('/doc');
      assert.deepInclude(json, { n: 2 });
      assert.equal((await t.get('/doc/a')).text, 'hello');
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'two files with one name are refused',
    async (t) => {
      const answer = await post(t, '/doc', [field('_doc', '{"n":2}'), file('a', 'one'), file('a', 'two')]);
      assertError(answer, 400, 'bad_request', 'Duplicate attachments');
      assert.equal((await t.get('/doc')).status, 404);
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    "a revision that isn't current is refused",
    async (t) => {
      const rev = await t.put('doc', { n: 1 });
      await t.put('doc', { _rev: rev, n: 2 });
      for (const parts of [[file('a', 'x')], [file('a', 'x'), field('_rev', rev)]]) {
        assertError(await post(t, '/doc', parts), 409, 'conflict', 'Document update conflict.');
      }
      assert.notProperty((await t.get('/doc')).json, '_attachments');
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'a form from a page of another server is refused',
    async (t) => {
      const headers = { 'content-type': FORM };
      const body = `${file('a', 'x')}--b--`;
      assertError(await t.at('POST', '/doc', { body, headers }), 400, 'bad_request', 'Referer header required.');
      const foreign = await post(t, '/doc', [file('a', 'x')], { referer: 'https://elsewhere.example/' });
      assertError(foreign, 400, 'bad_request', 'Referer header must match host.');
      assert.deepInclude(await t.info(), { doc_count: 0 });
    },
    { needs: ['forbidden-headers'] },
  ),

  test("a body that isn't multipart/form-data is refused", async (t) => {
    const answer = await t.at('POST', '/doc', { json: {} });
    assertError(answer, 415, 'bad_content_type', 'Content-Type must be multipart/form-data');
  }),
]);
