import { assert } from 'chai';
import { assertError, assertJson, assertWritten } from '../../support/conformance/answer.ts';
import { fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** Two branches from one root: `2-b…` loses, `2-c…` wins. */
async function conflicted(t: Toolkit): Promise<void> {
  await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 2, 'ca', { n: 2 })]);
}

/** Branches of a document: who wins, and how they end (docs/http/documents.md#winning-revision). */
export default suite('conflicts', [
  test('a write by a stale revision is refused and changes nothing', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    const answer = await t.at('PUT', '/doc', { json: { _rev: first, n: 3 } });
    assertError(answer, 409, 'conflict', 'Document update conflict.');
    assertJson(await t.get('/doc?conflicts=true'), 200, { _id: 'doc', _rev: second, n: 2 });
  }),

  test('the higher generation wins a conflict', async (t) => {
    await t.replicate([replicated('doc', 3, '1ba', { n: 1 }), replicated('doc', 2, 'ca', { n: 2 })]);
    assertJson(await t.get('/doc?conflicts=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(3, '1'),
      n: 1,
      _conflicts: [fakeRev(2, 'c')],
    });
  }),

  test('generations compare as numbers', async (t) => {
    await t.replicate([replicated('doc', 9, '9', { n: 9 }), replicated('doc', 10, '1', { n: 10 })]);
    assert.equal(at((await t.get('/doc')).json, '_rev'), fakeRev(10, '1'));
  }),

  test('in one generation the greater hash wins, whichever arrived first', async (t) => {
    await conflicted(t);
    await t.replicate([replicated('other', 2, 'ca', { n: 2 }), replicated('other', 2, 'ba', { n: 1 })]);
    for (const id of ['doc', 'other']) {
      const answer = await t.get(`/${id}?conflicts=true`);
      assertJson(answer, 200, { _id: id, _rev: fakeRev(2, 'c'), n: 2, _conflicts: [fakeRev(2, 'b')] });
    }
  }),

  test('a live branch wins over a longer deleted one', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 4, 'fdca', { _deleted: true })]);
    assertJson(await t.get('/doc?conflicts=true&deleted_conflicts=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(2, 'b'),
      n: 1,
      _deleted_conflicts: [fakeRev(4, 'f')],
    });
    assert.deepInclude(await t.info(), { doc_count: 1, doc_del_count: 0 });
  }),

  test('a document without a conflict has no _conflicts', async (t) => {
    await t.put('doc', {});
    const read = (await t.get('/doc?conflicts=true&deleted_conflicts=true')).json;
    assert.hasAllKeys(read, ['_id', '_rev']);
  }),

  test('meta=true adds conflicts and revisions', async (t) => {
    await conflicted(t);
    await t.replicate([replicated('doc', 3, 'dea', { _deleted: true })]);
    assertJson(await t.get('/doc?meta=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(2, 'c'),
      n: 2,
      _revs_info: [
        { rev: fakeRev(2, 'c'), status: 'available' },
        { rev: fakeRev(1, 'a'), status: 'missing' },
      ],
      _conflicts: [fakeRev(2, 'b')],
      _deleted_conflicts: [fakeRev(3, 'd')],
    });
  }),

  test('a losing branch can be read and edited', async (t) => {
    await conflicted(t);
    assertJson(await t.get(`/doc?rev=${fakeRev(2, 'b')}`), 200, { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1 });
    const third = await t.put('doc', { _rev: fakeRev(2, 'b'), n: 3 });
    assert.match(third, /^3-/);
    assertJson(await t.get('/doc?conflicts=true'), 200, {
      _id: 'doc',
      _rev: third,
      n: 3,
      _conflicts: [fakeRev(2, 'c')],
    });
  }),

  test('deleting the losing branch keeps the winner', async (t) => {
    await conflicted(t);
    const tombstone = await t.delete('doc', fakeRev(2, 'b'));
    assert.match(tombstone, /^3-/);
    assertJson(await t.get('/doc?conflicts=true&deleted_conflicts=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(2, 'c'),
      n: 2,
      _deleted_conflicts: [tombstone],
    });
    assert.deepInclude(await t.info(), { doc_count: 1, doc_del_count: 0 });
  }),

  test('deleting the winner makes the next live branch win', async (t) => {
    await conflicted(t);
    const answer = await t.at('DELETE', `/doc?rev=${fakeRev(2, 'c')}`);
    assertWritten(answer, 200, 'doc');
    assertJson(await t.get('/doc?conflicts=true'), 200, { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1 });
    assert.deepInclude(await t.info(), { doc_count: 1, doc_del_count: 0 });
    await t.delete('doc', fakeRev(2, 'b'));
    assertError(await t.get('/doc'), 404, 'not_found', 'deleted');
    assert.deepInclude(await t.info(), { doc_count: 0, doc_del_count: 1 });
  }),

  test('a new branch moves the document in the sequence, and a known one does not', async (t) => {
    await conflicted(t);
    const before = await t.updateSeq();
    await conflicted(t);
    assert.equal(await t.updateSeq(), before);
    await t.replicate([replicated('doc', 2, 'da', { n: 4 })]);
    assert.equal(await t.updateSeq(), before + 1);
  }),

  test('ten branches list nine conflicts', async (t) => {
    const digits = [...'0123456789'];
    await t.replicate(digits.map((digit) => replicated('doc', 2, `${digit}a`, { digit })));
    const read = (await t.get('/doc?conflicts=true')).json;
    assert.equal(stringAt(read, '_rev'), fakeRev(2, '9'));
    assert.deepEqual(
      at(read, '_conflicts'),
      digits
        .slice(0, 9)
        .toReversed()
        .map((digit) => fakeRev(2, digit)),
    );
  }),

  test('of many simultaneous writers with one revision, one succeeds', async (t) => {
    const rev = await t.put('doc', { n: 0 });
    const writers = Array.from({ length: 20 }, (_, n) => t.at('PUT', '/doc', { json: { _rev: rev, n } }));
    const statuses = (await Promise.all(writers)).map((answer) => answer.status);
    assert.lengthOf(
      statuses.filter((status) => status === 201),
      1,
    );
    assert.lengthOf(
      statuses.filter((status) => status === 409),
      19,
    );
    assert.deepInclude(await t.info(), { update_seq: 2 });
  }),
]);
