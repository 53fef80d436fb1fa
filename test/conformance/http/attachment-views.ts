import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const map = 'function (doc) { if (doc.n) emit(doc.n, null); }';

async function prepare(t: Toolkit): Promise<void> {
  await t.put('_design/app', { views: { numbers: { map } } });
  const attachment = { content_type: 'text/plain', data: 'aGVsbG8=' };
  await t.bulk([
    { _id: 'a', n: 1, _attachments: { x: attachment, y: { data: 'eA==' } } },
    { _id: 'b', n: 2 },
  ]);
}

/** The documents of lists and views with the content of their attachments (docs/http/attachments.md#reading-attachments-with-documents). */
export default suite('attachment_views', [
  test('lists and views show stubs', async (t) => {
    await prepare(t);
    for (const path of ['/_all_docs?include_docs=true&startkey="a"', '/_design/app/_view/numbers?include_docs=true']) {
      const { json } = await t.get(path);
      const stub = at(json, 'rows', 0, 'doc', '_attachments', 'x');
      assert.deepInclude(stub, { stub: true, length: 5, content_type: 'text/plain', revpos: 1 });
      assert.notProperty(at(json, 'rows', 1, 'doc'), '_attachments');
    }
  }),

  test('lists and views show the content if attachments=true', async (t) => {
    await prepare(t);
    const paths = [
      '/_all_docs?include_docs=true&attachments=true&startkey="a"',
      '/_all_docs?include_docs=true&attachments=true&keys=["a","b"]',
      '/_design/app/_view/numbers?include_docs=true&attachments=true',
      '/_design/app/_view/numbers?include_docs=true&attachments=true&keys=[1,2]',
    ];
    for (const path of paths) {
      const { json } = await t.get(path);
      const entry = at(json, 'rows', 0, 'doc', '_attachments', 'x');
      assert.deepInclude(entry, { data: 'aGVsbG8=', content_type: 'text/plain' }, path);
      assert.notProperty(entry, 'stub', path);
      assert.deepInclude(at(json, 'rows', 0, 'doc', '_attachments', 'y'), { data: 'eA==' }, path);
      assert.deepInclude(at(json, 'rows', 0, 'doc'), { _id: 'a', n: 1 }, path);
      assert.deepInclude(at(json, 'rows', 1, 'doc'), { _id: 'b', n: 2 }, path);
    }
  }),

  test('_find shows stubs, in whole documents and by a field', async (t) => {
    await prepare(t);
    const stub = { stub: true, length: 5, content_type: 'text/plain', revpos: 1 };
    for (const more of [{}, { fields: ['_attachments'] }]) {
      const answer = await t.at('POST', '/_find', { json: { selector: { n: 1 }, ...more } });
      assert.deepInclude(at(answer.json, 'docs', 0, '_attachments', 'x'), stub);
      assert.notProperty(at(answer.json, 'docs', 0, '_attachments', 'x'), 'data');
    }
    const answer = await t.at('POST', '/_find', { json: { selector: { '_attachments.y.length': 1 } } });
    assert.deepEqual(at(answer.json, 'docs', 0, '_id'), 'a');
  }),

  test('att_encoding_info adds how attachments are stored', async (t) => {
    await prepare(t);
    const text = { content_type: 'text/plain', data: btoa('hello '.repeat(50)) };
    await t.put('c', { n: 3, _attachments: { x: text, y: { data: 'eA==' } } });
    for (const path of ['/_all_docs?startkey="a"&', '/_design/app/_view/numbers?']) {
      const { json } = await t.get(`${path}include_docs=true&att_encoding_info=true`);
      const entry = at(json, 'rows', 2, 'doc', '_attachments', 'x');
      assert.deepInclude(entry, { encoding: 'gzip', stub: true, length: 300 }, path);
      assert.notProperty(at(json, 'rows', 2, 'doc', '_attachments', 'y'), 'encoding', path);
    }
  }),

  test('without include_docs the parameters change nothing, and invalid values are refused', async (t) => {
    await prepare(t);
    const { json } = await t.get('/_all_docs?attachments=true&startkey="a"');
    assert.notProperty(at(json, 'rows', 0), 'doc');
    const answer = await t.get('/_all_docs?attachments=maybe');
    assert.equal(answer.status, 400);
    assert.equal(at(answer.json, 'error'), 'query_parse_error');
    const reduced = await t.get('/_design/app/_view/numbers?reduce=true&attachments=true');
    assert.equal(reduced.status, 400);
  }),

  test(
    'attachments larger than a row can show are refused',
    async (t) => {
      const large = await t.withSettings({ attachments: { compression_level: '0' } });
      const body = new Uint8Array(65 * 1024 * 1024);
      assert.equal((await large.at('PUT', '/a/large', { body })).status, 201);
      const bytes = body.length;
      const reason = `A document of the list has ${bytes} bytes of attachments, but a row can show at most ${64 * 1024 * 1024}. Read that document separately.`;
      assertError(await large.get('/_all_docs?include_docs=true&attachments=true'), 413, 'too_large', reason);
    },
    { needs: ['settings'] },
  ),
]);
