import { assert } from 'chai';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { json, numbered, pluck, putViews, query } from '../../support/conformance/view-steps.ts';

async function tenDocuments(t: Toolkit): Promise<void> {
  await putViews(t, { by_n: 'function (doc) { emit(doc.integer, null); }' });
  await t.bulk(numbered(10));
}

/** Three documents for each of the keys a, b, c. */
async function sharedKeys(t: Toolkit): Promise<void> {
  await putViews(t, { by_key: 'function (doc) { emit(doc.key, doc._id); }' });
  await t.bulk(['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2', 'c3'].map((_id) => ({ _id, key: _id.charAt(0) })));
}

/** Ranges and pages of rows (docs/http/views.md#view-parameters). */
export default suite('view_parameters', [
  test('key, startkey and endkey limit the rows, under both spellings', async (t) => {
    await tenDocuments(t);
    assert.deepEqual(pluck(await query(t, 'by_n?key=4'), 'key'), [4]);
    assert.deepEqual(pluck(await query(t, 'by_n?startkey=7'), 'key'), [7, 8, 9]);
    assert.deepEqual(pluck(await query(t, 'by_n?start_key=2&end_key=4'), 'key'), [2, 3, 4]);
    assert.deepEqual(pluck(await query(t, 'by_n?endkey=1.5'), 'key'), [0, 1]);
    assert.deepEqual(pluck(await query(t, 'by_n?startkey=null&endkey=null'), 'key'), []);
    assert.deepEqual(pluck(await query(t, 'by_n?endkey={}&limit=2'), 'key'), [0, 1]);
  }),

  test('inclusive_end=false leaves out the end key', async (t) => {
    await tenDocuments(t);
    assert.deepEqual(pluck(await query(t, 'by_n?startkey=2&endkey=4&inclusive_end=false'), 'key'), [2, 3]);
    assert.deepEqual(
      pluck(await query(t, 'by_n?descending=true&startkey=4&endkey=2&inclusive_end=false'), 'key'),
      [4, 3],
    );
    assert.deepEqual(pluck(await query(t, 'by_n?key=4&inclusive_end=false'), 'key'), [4]);
  }),

  test('descending reverses the order before the bounds apply', async (t) => {
    await tenDocuments(t);
    assert.deepEqual(pluck(await query(t, 'by_n?descending=true&limit=3'), 'key'), [9, 8, 7]);
    assert.deepEqual(pluck(await query(t, 'by_n?descending=true&startkey=3'), 'key'), [3, 2, 1, 0]);
    assert.deepEqual(pluck(await query(t, 'by_n?descending=true&startkey=5&endkey=3'), 'key'), [5, 4, 3]);
  }),

  test('a reversed range has no rows', async (t) => {
    await tenDocuments(t);
    assert.deepEqual(pluck(await query(t, 'by_n?startkey=5&endkey=3'), 'key'), []);
    assert.deepEqual(pluck(await query(t, 'by_n?descending=true&startkey=3&endkey=5'), 'key'), []);
  }),

  test('skip and limit select a page', async (t) => {
    await tenDocuments(t);
    assert.deepEqual(pluck(await query(t, 'by_n?skip=3&limit=2'), 'key'), [3, 4]);
    assert.deepEqual(pluck(await query(t, 'by_n?skip=8&limit=5'), 'key'), [8, 9]);
    assert.deepEqual(pluck(await query(t, 'by_n?startkey=4&skip=2&limit=2&descending=true'), 'key'), [2, 1]);
    assert.deepEqual(pluck(await query(t, 'by_n?skip=100'), 'key'), []);
  }),

  test('startkey_docid and endkey_docid narrow rows with the same key', async (t) => {
    await sharedKeys(t);
    assert.deepEqual(pluck(await query(t, 'by_key?startkey="b"&startkey_docid=b2'), 'id'), [
      'b2',
      'b3',
      'c1',
      'c2',
      'c3',
    ]);
    assert.deepEqual(pluck(await query(t, 'by_key?startkey="b"&start_key_doc_id=b2&endkey="b"'), 'id'), ['b2', 'b3']);
    assert.deepEqual(pluck(await query(t, 'by_key?endkey="b"&endkey_docid=b1'), 'id'), ['a1', 'a2', 'a3', 'b1']);
    assert.deepEqual(pluck(await query(t, 'by_key?endkey="b"&end_key_doc_id=b2&inclusive_end=false'), 'id'), [
      'a1',
      'a2',
      'a3',
      'b1',
    ]);
    assert.deepEqual(pluck(await query(t, 'by_key?key="b"&startkey_docid=b2'), 'id'), ['b2', 'b3']);
    const back = await query(t, 'by_key?descending=true&startkey="b"&startkey_docid=b2&endkey="a"&endkey_docid=a3');
    assert.deepEqual(pluck(back, 'id'), ['b2', 'b1', 'a3']);
  }),

  test('startkey_docid and endkey_docid without their key are ignored', async (t) => {
    await sharedKeys(t);
    assert.lengthOf(pluck(await query(t, 'by_key?startkey_docid=c2'), 'id'), 9);
    assert.lengthOf(pluck(await query(t, 'by_key?endkey_docid=a1'), 'id'), 9);
  }),

  test('pages by key and document id return every row once', async (t) => {
    await sharedKeys(t);
    const seen: unknown[] = [];
    let from = '';
    for (let pages = 0; pages < 9; pages += 1) {
      const rows = pluck(await query(t, `by_key?limit=3${from}`), 'id');
      seen.push(...rows.slice(0, 2));
      const next = rows[2];
      if (typeof next !== 'string') break;
      from = `&startkey=${json(next.charAt(0))}&startkey_docid=${next}`;
    }
    assert.deepEqual(seen, ['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2', 'c3']);
  }),

  test('of a parameter given twice the last counts, and unknown parameters are ignored', async (t) => {
    await tenDocuments(t);
    assert.deepEqual(pluck(await query(t, 'by_n?limit=1&limit=2&colour=blue'), 'key'), [0, 1]);
  }),

  test('booleans are case-insensitive', async (t) => {
    await tenDocuments(t);
    assert.deepEqual(pluck(await query(t, 'by_n?descending=TRUE&limit=1'), 'key'), [9]);
  }),

  test('update_seq=true returns the sequence that the index reflects', async (t) => {
    await tenDocuments(t);
    assert.equal(at((await query(t, 'by_n?limit=0&update_seq=true')).json, 'update_seq'), 11);
  }),
]);
