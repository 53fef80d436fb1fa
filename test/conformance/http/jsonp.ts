import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { parseJson } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const allowed = { httpd: { allow_jsonp: 'true' } };

/** JSONP (docs/http/answers.md#jsonp). */
export default suite('jsonp', [
  test('callback is ignored by default', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    const answer = await t.get('/doc?callback=run');
    assert.equal(answer.header('content-type'), 'application/json');
    assert.deepEqual(answer.json, { _id: 'doc', _rev: rev, n: 1 });
  }),

  test(
    'every JSON response is wrapped into the callback if JSONP is enabled',
    async (t) => {
      const other = await t.withSettings(allowed);
      await other.put('doc', { n: 1 });
      for (const path of ['', '/doc', '/_all_docs', '/_revs_limit']) {
        const plain = await other.get(path);
        const answer = await other.get(`${path}?callback=my.callback[0]`);
        assert.match(answer.header('content-type') ?? '', /^text\/javascript\b/, path);
        const framed = /^\/\* svc \*\/my\.callback\[0\]\(([\s\S]*)\);\n$/.exec(answer.text);
        assert.isNotNull(framed, answer.text);
        assert.deepEqual(parseJson(framed?.[1] ?? ''), plain.json);
      }
    },
    { needs: ['settings'] },
  ),

  test(
    'responses other than JSON are unchanged, and HEAD has the type of GET',
    async (t) => {
      const other = await t.withSettings(allowed);
      for (const type of ['text/plain', 'text/plain; charset=utf-8', 'application/json']) {
        const written = await other.at('PUT', '/doc/file', { body: '[1]', headers: { 'content-type': type } });
        const answer = await other.get('/doc/file?callback=run');
        assert.deepEqual([answer.header('content-type'), answer.text], [type, '[1]']);
        await other.at('DELETE', `/doc?rev=${written.header('etag')?.slice(1, -1)}`);
      }
      await other.put('_design/test', {
        shows: { plain: 'function () { return {headers: {"Content-Type": "text/plain"}, body: "x"}; }' },
      });
      const shown = await other.get('/_design/test/_show/plain?callback=run');
      assert.deepEqual([shown.header('content-type'), shown.text], ['text/plain', 'x']);
      for (const path of ['', '/_design/test', '/_all_docs', '/_changes', '/nobody']) {
        const head = await other.at('HEAD', `${path}?callback=run`);
        assert.match(head.header('content-type') ?? '', /^text\/javascript\b/, path);
      }
    },
    { needs: ['settings'] },
  ),

  test(
    "a callback that isn't a plain name is refused",
    async (t) => {
      const other = await t.withSettings(allowed);
      for (const callback of ['alert(1)', 'a;b', 'a%20b', '<script>', 'a"b', 'a/b']) {
        const answer = await other.get(`?callback=${encodeURIComponent(callback)}`);
        assertError(answer, 400, 'bad_request', 'invalid_callback');
      }
    },
    { needs: ['settings'] },
  ),
]);
