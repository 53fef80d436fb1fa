import { assert } from 'chai';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { numbered, pluck, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

/** `include_docs` (docs/http/views.md#included-documents): the emitting document, or the one that the value names. */
export default suite('view_include_docs', [
  test('include_docs adds the current document to each row', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.integer, null); }' });
    await t.bulk(numbered(3));
    const rev = (await t.get('/1')).header('etag')?.slice(1, -1);
    assert.deepEqual(rowsOf(await query(t, 'v?include_docs=true&key=1')), [
      { id: '1', key: 1, value: null, doc: { _id: '1', _rev: rev, integer: 1, string: '1' } },
    ]);
    assert.deepEqual(
      pluck(await query(t, 'v?include_docs=true&descending=true'), 'doc').map((doc) => at(doc, '_id')),
      ['2', '1', '0'],
    );
  }),

  test('a value with _id includes the document with that id', async (t) => {
    await putViews(t, { v: 'function (doc) { if (doc.link) emit(doc._id, { _id: doc.link }); }' });
    await t.bulk([
      { _id: 'a', link: 'c' },
      { _id: 'b', link: 'nothing' },
      { _id: 'c', n: 1 },
      { _id: 'd', link: 'e' },
      { _id: 'e' },
      { _id: 'f', link: 'g/h i' },
      { _id: 'g/h i', n: 2 },
    ]);
    await t.delete('e', `${(await t.get('/e')).header('etag')?.slice(1, -1)}`);
    const docs = pluck(await query(t, 'v?include_docs=true'), 'doc');
    assert.deepInclude(docs[0], { _id: 'c', n: 1 });
    assert.isNull(docs[1]);
    assert.isNull(docs[2]);
    assert.deepInclude(docs[3], { _id: 'g/h i', n: 2 });
  }),

  test('a value with _rev includes that revision', async (t) => {
    await putViews(t, {
      v: 'function (doc) { if (doc.prev) { emit("1 own", { _rev: doc.prev }); emit("2 named", { _id: doc._id, _rev: doc.prev }); emit("3 no such", { _rev: "9-x" }); emit("4 none", { _rev: 7 }); } }',
    });
    const first = await t.put('a', { n: 1 });
    await t.put('a', { _rev: first, n: 2, prev: first });
    const docs = pluck(await query(t, 'v?include_docs=true'), 'doc');
    assert.deepEqual(docs, [{ _id: 'a', _rev: first, n: 1 }, { _id: 'a', _rev: first, n: 1 }, null, null]);
  }),

  test('a value that only resembles a link is ignored', async (t) => {
    await putViews(t, {
      v: 'function (doc) { emit(1, { deep: { "_id": "other" } }); emit(2, ["_id"]); emit(3, "_id"); emit(4, { "_id": 7 }); }',
    });
    await t.put('a', { n: 1 });
    const docs = pluck(await query(t, 'v?include_docs=true'), 'doc');
    assert.deepEqual(
      docs.map((doc) => at(doc, '_id')),
      ['a', 'a', 'a', undefined],
    );
    assert.isNull(docs[3]);
  }),

  test("included documents are current even if the index isn't updated", async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.n, null); }' });
    const rev = await t.put('a', { n: 1 });
    await query(t, 'v');
    await t.put('a', { _rev: rev, n: 2 });
    const [row] = rowsOf(await query(t, 'v?include_docs=true&stale=ok'));
    assert.deepEqual([at(row, 'key'), at(row, 'doc', 'n')], [1, 2]);
  }),

  test('many large documents are included', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.integer, null); }' });
    const text = 'lorem ipsum '.repeat(2000);
    await t.bulk(numbered(60).map((doc) => ({ ...doc, text })));
    const docs = pluck(await query(t, 'v?include_docs=true'), 'doc');
    assert.deepEqual(
      docs.map((doc) => at(doc, 'integer')),
      Array.from({ length: 60 }, (_, n) => n),
    );
    assert.isTrue(docs.every((doc) => at(doc, 'text') === text));
  }),
]);
