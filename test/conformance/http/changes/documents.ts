import { assert } from 'chai';
import { fakeRev, replicated } from '../../../support/conformance/fake-revisions.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { changes, threeDocuments } from './steps.ts';

const attachment = { content_type: 'text/plain', data: 'aGVsbG8=' };

/** `include_docs` and what goes with it (docs/http/changes.md#parameters-of-feeds). */
export default suite('changes_documents', [
  test('include_docs adds the document at the end of each row', async (t) => {
    await threeDocuments(t);
    const { text } = await changes(t, 'include_docs=true&limit=1');
    const rev = fakeRev(1, 'a');
    assert.deepEqual(text, [`{"seq":1,"id":"b","changes":[{"rev":"${rev}"}],"doc":{"_id":"b","_rev":"${rev}","n":1}}`]);
  }),

  test('include_docs works in every feed', async (t) => {
    await threeDocuments(t);
    const doc = `"doc":{"_id":"c","_rev":"${fakeRev(1, 'c')}","n":3}}`;
    for (const feed of ['normal', 'longpoll', 'continuous', 'eventsource']) {
      const { text } = await t.get(`/_changes?feed=${feed}&include_docs=true&since=2&limit=1`);
      assert.include(text, doc, feed);
    }
  }),

  test("a deleted document's row has the tombstone with its remaining members", async (t) => {
    const rev = await t.delete('x', await t.put('x', { n: 1 }));
    await t.replicate([replicated('y', 2, 'ba', { _deleted: true, n: 2 })]);
    assert.deepEqual(
      (await changes(t, 'include_docs=true')).rows.map((row) => at(row, 'doc')),
      [
        { _id: 'x', _rev: rev, _deleted: true },
        { _id: 'y', _rev: fakeRev(2, 'b'), _deleted: true, n: 2 },
      ],
    );
  }),

  test('the row has the winning revision whatever the style, and its conflicts with conflicts=true', async (t) => {
    await t.replicate([
      replicated('x', 2, 'ba', { n: 1 }),
      replicated('x', 2, 'ca', { n: 2 }),
      replicated('x', 3, '1da', { _deleted: true }),
    ]);
    const doc = { _id: 'x', _rev: fakeRev(2, 'c'), n: 2 };
    const docOf = async (parameters: string) => at((await changes(t, parameters)).rows, 0, 'doc');
    assert.deepEqual(await docOf('include_docs=true'), doc);
    assert.deepEqual(await docOf('include_docs=true&style=all_docs'), doc);
    assert.deepEqual(await docOf('include_docs=true&conflicts=true'), { ...doc, _conflicts: [fakeRev(2, 'b')] });
    assert.isUndefined(await docOf('conflicts=true'));
    await t.put('y', {});
    assert.notProperty(at((await changes(t, 'include_docs=true&conflicts=true')).rows, 1, 'doc'), '_conflicts');
  }),

  test('attachments are stubs, or whole with attachments=true', async (t) => {
    await t.put('x', { _attachments: { 'a.txt': attachment } });
    const entryOf = async (parameters: string) =>
      at((await changes(t, `include_docs=true${parameters}`)).rows, 0, 'doc', '_attachments', 'a.txt');
    const about = { content_type: 'text/plain', revpos: 1, digest: 'md5-XUFAKrxLKna5cZ2REBfFkg==' };
    assert.deepEqual(await entryOf(''), { ...about, length: 5, stub: true });
    assert.deepEqual(await entryOf('&attachments=true'), { ...about, data: 'aGVsbG8=' });
    const { json } = await t.get('/x');
    await t.put('x', {
      _rev: at(json, '_rev'),
      _attachments: { 'a.txt': { ...attachment, data: 'YWFh'.repeat(100) } },
    });
    assert.deepInclude(await entryOf('&att_encoding_info=true'), { stub: true, encoding: 'gzip', length: 300 });
    assert.notProperty((await changes(t, 'attachments=true')).rows[0], 'doc');
  }),

  test('attachments of a live feed are whole with attachments=true', async (t) => {
    const feed = await t.feed('feed=continuous&include_docs=true&attachments=true&since=now&heartbeat=10000');
    await t.put('x', { _attachments: { 'a.txt': attachment } });
    assert.deepInclude(at(JSON.parse(await feed.line()), 'doc', '_attachments', 'a.txt'), { data: 'aGVsbG8=' });
  }),

  test('many large documents each appear in their own row', async (t) => {
    const text = 'lorem ipsum '.repeat(5_000);
    await t.bulk(Array.from({ length: 60 }, (_, n) => ({ _id: `${n}`, n, text })));
    const { rows } = await changes(t, 'include_docs=true');
    assert.deepEqual(
      rows.map((row) => [at(row, 'id'), at(row, 'doc', '_id'), at(row, 'doc', 'n')]),
      Array.from({ length: 60 }, (_, n) => [`${n}`, `${n}`, n]),
    );
    assert.isTrue(rows.every((row) => at(row, 'doc', 'text') === text));
  }),

  test('rows that pass a filter have their documents', async (t) => {
    await threeDocuments(t);
    const { rows } = await changes(t, 'include_docs=true&filter=_selector', { json: { selector: { n: 2 } } });
    assert.deepEqual(
      rows.map((row) => at(row, 'doc')),
      [{ _id: 'a', _rev: fakeRev(1, 'b'), n: 2 }],
    );
  }),
]);
