import { assert } from 'chai';
import { assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** Writing over a tombstone (docs/http/documents.md#writing-a-document): the new revision extends it. */
export default suite('recreate_doc', [
  test('a deleted document is created again without a revision, with the next generation', async (t) => {
    const first = await t.put('doc', { a: 'bird' });
    const second = await t.delete('doc', first);
    const answer = await t.at('PUT', '/doc', { json: { a: 'bee' } });
    const third = assertWritten(answer, 201, 'doc');
    assert.match(third, /^3-/);
    assertJson(await t.get('/doc?revs=true&conflicts=true&deleted_conflicts=true'), 200, {
      _id: 'doc',
      _rev: third,
      a: 'bee',
      _revisions: { start: 3, ids: [third, second, first].map((rev) => rev.slice(2)) },
    });
    assert.deepInclude(await t.info(), { doc_count: 1, doc_del_count: 0, update_seq: 3 });
  }),

  test('a document can be deleted and created repeatedly, also with the same content', async (t) => {
    for (let round = 0; round < 10; round += 1) {
      const rev = await t.put('doc', { a: 'constant' });
      assert.match(rev, new RegExp(`^${round * 2 + 1}-`));
      await t.delete('doc', rev);
    }
    const leaves = arrayAt((await t.get('/doc?open_revs=all&revs=true')).json);
    assert.lengthOf(leaves, 1);
    assert.lengthOf(arrayAt(leaves, 0, 'ok', '_revisions', 'ids'), 20);
  }),

  test('a deleted document can be created again by POST and in bulk', async (t) => {
    await t.delete('one', await t.put('one', {}));
    await t.delete('two', await t.put('two', {}));
    assert.match(stringAt((await t.at('POST', '', { json: { _id: 'one', n: 1 } })).json, 'rev'), /^3-/);
    assert.match(stringAt(await t.bulk([{ _id: 'two', n: 1 }]), 0, 'rev'), /^3-/);
  }),

  test('the revision of the tombstone can be given', async (t) => {
    const tombstone = await t.delete('doc', await t.put('doc', {}));
    const rev = await t.put('doc', { _rev: tombstone, n: 1 });
    assert.match(rev, /^3-/);
    assert.equal(at((await t.get('/doc')).json, 'n'), 1);
  }),

  test('a revision older than the tombstone conflicts', async (t) => {
    const first = await t.put('doc', {});
    await t.delete('doc', first);
    assert.equal((await t.at('PUT', '/doc', { json: { _rev: first } })).status, 409);
  }),

  test('of several tombstones the winning one gets the new revision', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba', { _deleted: true }), replicated('doc', 2, 'ca', { _deleted: true })]);
    const rev = await t.put('doc', { n: 1 });
    const read = (await t.get('/doc?revs=true&deleted_conflicts=true')).json;
    assert.equal(at(read, '_rev'), rev);
    assert.deepEqual(arrayAt(read, '_revisions', 'ids').slice(1), ['c'.repeat(32), 'a'.repeat(32)]);
    assert.deepEqual(at(read, '_deleted_conflicts'), [fakeRev(2, 'b')]);
  }),
]);
