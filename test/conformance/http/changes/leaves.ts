import { assert } from 'chai';
import { fakeRev, replicated } from '../../../support/conformance/fake-revisions.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { json } from '../../../support/conformance/view-steps.ts';
import { changes } from './steps.ts';

/** Documents with several branches: `style`, and who is deleted (docs/http/changes.md#rows-of-changes). */
export default suite('changes_leaves', [
  test('style=main_only lists the winner, and style=all_docs all leaves, with the winner first', async (t) => {
    await t.replicate([replicated('x', 2, 'ba'), replicated('x', 3, '1ca'), replicated('x', 2, 'da')]);
    const winner = { rev: fakeRev(3, '1') };
    const row = { seq: await t.updateSeq(), id: 'x' };
    assert.deepEqual((await changes(t, '')).rows, [{ ...row, changes: [winner] }]);
    assert.deepEqual((await changes(t, 'style=main_only')).rows, [{ ...row, changes: [winner] }]);
    assert.deepEqual((await changes(t, 'style=all_docs')).rows, [
      { ...row, changes: [winner, { rev: fakeRev(2, 'd') }, { rev: fakeRev(2, 'b') }] },
    ]);
  }),

  test("style=all_docs lists deleted branches, which don't make the document deleted", async (t) => {
    await t.replicate([replicated('x', 3, '1ba', { _deleted: true }), replicated('x', 2, 'ca', { n: 1 })]);
    const seq = await t.updateSeq();
    const all = [{ rev: fakeRev(2, 'c') }, { rev: fakeRev(3, '1') }];
    const whole = [{ seq, id: 'x', changes: all }];
    assert.deepEqual((await changes(t, 'style=all_docs')).rows, whole);
    assert.deepEqual((await changes(t, '')).rows, [{ seq, id: 'x', changes: [{ rev: fakeRev(2, 'c') }] }]);
    // Those who ask by id get the same rows.
    assert.deepEqual((await changes(t, `style=all_docs&filter=_doc_ids&doc_ids=${json(['x'])}`)).rows, whole);
    await t.replicate([replicated('other', 1, 'a')]);
    assert.deepEqual((await changes(t, `style=all_docs&filter=_doc_ids&doc_ids=${json(['x'])}`)).rows, whole);
  }),

  test('deleting the winner makes the next live leaf win, and the row is not a deletion', async (t) => {
    await t.replicate([replicated('x', 2, 'ba', { n: 1 }), replicated('x', 2, 'ca', { n: 2 })]);
    const tombstone = await t.delete('x', fakeRev(2, 'c'));
    const seq = await t.updateSeq();
    assert.deepEqual((await changes(t, 'style=all_docs')).rows, [
      { seq, id: 'x', changes: [{ rev: fakeRev(2, 'b') }, { rev: tombstone }] },
    ]);
    assert.deepEqual((await changes(t, '')).rows, [{ seq, id: 'x', changes: [{ rev: fakeRev(2, 'b') }] }]);
  }),

  test('deleting a losing leaf keeps the winner, and is a change', async (t) => {
    await t.replicate([replicated('x', 2, 'ba', { n: 1 }), replicated('x', 2, 'ca', { n: 2 })]);
    const before = await t.updateSeq();
    await t.delete('x', fakeRev(2, 'b'));
    const { rows, lastSeq } = await changes(t, `since=${before}`);
    assert.deepEqual(rows, [{ seq: lastSeq, id: 'x', changes: [{ rev: fakeRev(2, 'c') }] }]);
    assert.isAbove(lastSeq, before);
  }),

  test('thousands of leaves are listed in each format, with and without the document', async (t) => {
    const revs = Array.from({ length: 3_000 }, (_, n) => `1-${String(n).padStart(32, '0')}`);
    await t.put('before', {});
    await t.replicate(revs.map((_rev) => ({ _id: 'x', _rev, n: 1 })));
    await t.put('y', {});
    const told = revs.toReversed().map((rev) => ({ rev }));
    const winner = { _id: 'x', _rev: revs.at(-1), n: 1 };
    for (const [query, doc] of [
      ['', {}],
      ['&include_docs=true', { doc: winner }],
    ] as const) {
      const rowsOf = (lines: readonly string[]) => lines.map((line): unknown => JSON.parse(line));
      const { rows } = await changes(t, `style=all_docs${query}`);
      assert.deepEqual(
        rows.map((row) => at(row, 'id')),
        ['before', 'x', 'y'],
      );
      assert.deepEqual(rows[1], { seq: at(rows[1], 'seq'), id: 'x', changes: told, ...doc });
      const lines = await t.get(`/_changes?style=all_docs&feed=continuous&timeout=1${query}`);
      assert.deepEqual(rowsOf(lines.text.trimEnd().split('\n').slice(0, -1)), rows);
      const longpoll = await t.get(`/_changes?style=all_docs&feed=longpoll${query}`);
      assert.deepEqual(at(longpoll.json, 'results'), rows);
      const events = await t.get(`/_changes?style=all_docs&feed=eventsource&timeout=1${query}`);
      const data = events.text.split('\n').filter((line) => line.startsWith('data: {'));
      assert.deepEqual(rowsOf(data.map((line) => line.slice('data: '.length))), rows);
    }
  }),

  test('a document with deleted branches only is listed as deleted', async (t) => {
    await t.replicate([
      replicated('x', 2, 'ba', { _deleted: true }),
      replicated('x', 2, 'ca', { _deleted: true }),
      replicated('y', 1, 'a'),
    ]);
    const deleted = { id: 'x', changes: [{ rev: fakeRev(2, 'c') }, { rev: fakeRev(2, 'b') }], deleted: true };
    const { rows } = await changes(t, 'style=all_docs&limit=1');
    assert.deepEqual(rows, [{ seq: 2, ...deleted }]);
    assert.deepEqual((await changes(t, `style=all_docs&filter=_doc_ids&doc_ids=${json(['x'])}`)).rows, rows);
  }),
]);
