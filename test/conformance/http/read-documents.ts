import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeHash, fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { suite, test } from '../../support/conformance/suite.ts';

/** The query parameters of a document read (docs/http/documents.md#reading-a-document). */
export default suite('read_documents', [
  test('rev reads any revision whose body is stored', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    assertJson(await t.get(`/doc?rev=${second}`), 200, { _id: 'doc', _rev: second, n: 2 });
    assertJson(await t.get(`/doc?rev=${first}`), 200, { _id: 'doc', _rev: first, n: 1 });
    assertError(await t.get(`/doc?rev=${fakeRev(3, 'a')}`), 404, 'not_found', 'missing');
  }),

  test('revs lists the ancestors, newest first', async (t) => {
    await t.replicate([replicated('doc', 3, 'cba', { n: 1 })]);
    assertJson(await t.get('/doc?revs=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(3, 'c'),
      n: 1,
      _revisions: { start: 3, ids: [fakeHash('c'), fakeHash('b'), fakeHash('a')] },
    });
  }),

  test('revs_info says which ancestors are available', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    const third = await t.delete('doc', second);
    const fourth = await t.put('doc', { n: 3 });
    assertJson(await t.get('/doc?revs_info=true'), 200, {
      _id: 'doc',
      _rev: fourth,
      n: 3,
      _revs_info: [
        { rev: fourth, status: 'available' },
        { rev: third, status: 'deleted' },
        { rev: second, status: 'available' },
        { rev: first, status: 'available' },
      ],
    });
  }),

  test('revs_info says that an ancestor without a body is missing', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 })]);
    assertJson(await t.get('/doc?revs_info=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(2, 'b'),
      n: 1,
      _revs_info: [
        { rev: fakeRev(2, 'b'), status: 'available' },
        { rev: fakeRev(1, 'a'), status: 'missing' },
      ],
    });
  }),

  test("local_seq adds the document's update sequence", async (t) => {
    await t.put('other', {});
    const rev = await t.put('doc', { n: 1 });
    assertJson(await t.get('/doc?local_seq=true'), 200, { _id: 'doc', _rev: rev, n: 1, _local_seq: 2 });
  }),

  test('only the literal true switches a flag on', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    for (const value of ['TRUE', 'True', '1', 'yes', '', 'false']) {
      const answer = await t.get(`/doc?revs=${value}&revs_info=${value}&local_seq=${value}&conflicts=${value}`);
      assertJson(answer, 200, { _id: 'doc', _rev: rev, n: 1 });
    }
  }),

  test('all options can be combined', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba', { n: 1 }), replicated('doc', 2, 'ca', { n: 2 })]);
    const query = `rev=${fakeRev(2, 'b')}&revs=true&revs_info=true&conflicts=true&local_seq=true`;
    const read = (await t.get(`/doc?${query}`)).json;
    assert.deepInclude(read, {
      _id: 'doc',
      _rev: fakeRev(2, 'b'),
      n: 1,
      _revisions: { start: 2, ids: [fakeHash('b'), fakeHash('a')] },
      _revs_info: [
        { rev: fakeRev(2, 'b'), status: 'available' },
        { rev: fakeRev(1, 'a'), status: 'missing' },
      ],
    });
  }),

  test('a document deleted on every branch can be read by revision only', async (t) => {
    await t.replicate([replicated('doc', 2, 'ba', { _deleted: true, why: 'old' })]);
    assertError(await t.get('/doc?revs=true'), 404, 'not_found', 'deleted');
    const read = await t.get(`/doc?revs=true&rev=${fakeRev(2, 'b')}`);
    assertJson(read, 200, {
      _id: 'doc',
      _rev: fakeRev(2, 'b'),
      _deleted: true,
      why: 'old',
      _revisions: { start: 2, ids: [fakeHash('b'), fakeHash('a')] },
    });
  }),
]);
