import { assert } from 'chai';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { pluck, putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

/** Conflicts in views (docs/http/functions.md#map-functions). */
export default suite('view_conflicts', [
  test('map functions see the winner and its _conflicts', async (t) => {
    await putViews(t, { v: 'function (doc) { if (doc._conflicts) emit(doc._conflicts, doc.n); }' });
    await t.put('plain', { n: 0 });
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 2, 'ca', { n: 2 })]);
    assert.deepEqual(rowsOf(await query(t, 'v')), [{ id: 'doc', key: [fakeRev(2, 'b')], value: 2 }]);
  }),

  test('included documents have _conflicts with conflicts=true only', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc._id, null); }' });
    await t.put('plain', {});
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 2, 'ca', { n: 2 })]);
    const winner = { _id: 'doc', _rev: fakeRev(2, 'c'), n: 2 };
    assert.deepEqual(pluck(await query(t, 'v?include_docs=true&key="doc"'), 'doc'), [winner]);
    const docs = pluck(await query(t, 'v?include_docs=true&conflicts=true'), 'doc');
    assert.deepEqual(docs[0], { ...winner, _conflicts: [fakeRev(2, 'b')] });
    assert.doesNotHaveAnyKeys(docs[1], ['_conflicts']);
    assert.deepEqual(pluck(await query(t, 'v?conflicts=true&key="doc"'), 'doc'), [undefined]);
  }),

  test('the row follows the winner when it changes', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.n, null); }' });
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 2, 'ca', { n: 2 })]);
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), [2]);
    await t.delete('doc', fakeRev(2, 'c'));
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), [1]);
    await t.delete('doc', fakeRev(2, 'b'));
    assert.deepEqual(pluck(await query(t, 'v'), 'key'), []);
  }),
]);
