import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeHash, fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { arrayAt, at, numberAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

/** Updates a document until it has this generation; gives the last revision. */
async function updateTo(t: Toolkit, id: string, generation: number): Promise<string> {
  let rev: string | undefined;
  for (let n = 1; n <= generation; n += 1) rev = await t.put(id, rev === undefined ? { n } : { _rev: rev, n });
  return rev ?? '';
}

async function limitRevisions(t: Toolkit, limit: number): Promise<void> {
  assertJson(await t.at('PUT', '/_revs_limit', { body: `${limit}` }), 200, { ok: true });
}

/** `_revs_limit`, and what is forgotten because of it (docs/http/documents.md#stemming). */
export default suite('rev_stemming', [
  test('a thousand revisions are kept by default', async (t) => {
    const answer = await t.get('/_revs_limit');
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '1000\n');
    await limitRevisions(t, 5);
    assert.equal((await t.get('/_revs_limit')).text, '5\n');
  }),

  test('a branch keeps as many revisions as the limit says', async (t) => {
    await limitRevisions(t, 5);
    const rev = await updateTo(t, 'doc', 11);
    const read = (await t.get('/doc?revs=true&revs_info=true')).json;
    assert.equal(at(read, '_rev'), rev);
    assert.equal(numberAt(read, '_revisions', 'start'), 11);
    assert.lengthOf(arrayAt(read, '_revisions', 'ids'), 5);
    assert.lengthOf(arrayAt(read, '_revs_info'), 5);
  }),

  test('a lower limit applies from the next edit on', async (t) => {
    const rev = await updateTo(t, 'doc', 10);
    await limitRevisions(t, 3);
    const next = await t.put('doc', { _rev: rev, n: 11 });
    const read = (await t.get('/doc?revs=true')).json;
    assert.equal(at(read, '_rev'), next);
    assert.lengthOf(arrayAt(read, '_revisions', 'ids'), 3);
  }),

  test('a lower limit applies with a compaction, also without edits', async (t) => {
    const rev = await updateTo(t, 'doc', 6);
    await limitRevisions(t, 3);
    assert.lengthOf(arrayAt((await t.get('/doc?revs=true')).json, '_revisions', 'ids'), 6);
    const before = await t.info();
    await t.compact();
    const read = (await t.get('/doc?revs=true')).json;
    assert.deepInclude(read, { _rev: rev, n: 6 });
    assert.equal(numberAt(read, '_revisions', 'start'), 6);
    assert.lengthOf(arrayAt(read, '_revisions', 'ids'), 3);
    assert.equal(at(await t.info(), 'update_seq'), at(before, 'update_seq'));
    // It is edited as ever.
    const next = await t.put('doc', { _rev: rev, n: 7 });
    assert.deepInclude((await t.get('/doc?conflicts=true')).json, { _rev: next, n: 7 });
  }),

  test('a replicated branch is cut to the limit', async (t) => {
    await limitRevisions(t, 2);
    await t.replicate([replicated('doc', 4, 'dcba', { n: 1 })]);
    assertJson(await t.get('/doc?revs=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(4, 'd'),
      n: 1,
      _revisions: { start: 4, ids: [fakeHash('d'), fakeHash('c')] },
    });
  }),

  test('a forgotten revision is missing to a replicator, and comes back as a conflict', async (t) => {
    await limitRevisions(t, 2);
    await t.replicate([replicated('doc', 4, 'dcba', { n: 1 })]);
    assertJson(await t.at('POST', '/_revs_diff', { json: { doc: [fakeRev(1, 'a'), fakeRev(3, 'c')] } }), 200, {
      doc: { missing: [fakeRev(1, 'a')] },
    });
    await t.replicate([replicated('doc', 2, 'ba', { n: 0 })]);
    assertJson(await t.get('/doc?conflicts=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(4, 'd'),
      n: 1,
      _conflicts: [fakeRev(2, 'b')],
    });
  }),

  test('a replicated branch that overlaps with stored revisions makes no conflict', async (t) => {
    await limitRevisions(t, 3);
    await t.replicate([replicated('doc', 3, 'cba', { n: 3 })]);
    await t.replicate([replicated('doc', 5, 'edc', { n: 5 })]);
    const read = (await t.get('/doc?conflicts=true&revs=true')).json;
    assert.deepEqual(read, {
      _id: 'doc',
      _rev: fakeRev(5, 'e'),
      n: 5,
      _revisions: { start: 5, ids: [fakeHash('e'), fakeHash('d'), fakeHash('c')] },
    });
  }),

  test('a known revision that arrives with more ancestors adds them', async (t) => {
    await t.replicate([replicated('doc', 3, 'c', { n: 3 })]);
    await t.replicate([replicated('doc', 1, 'a', { n: 1 })]);
    assert.deepEqual(at((await t.get('/doc?conflicts=true')).json, '_conflicts'), [fakeRev(1, 'a')]);
    await t.replicate([replicated('doc', 3, 'cba', { n: 'other' })]);
    assertJson(await t.get('/doc?conflicts=true&revs=true'), 200, {
      _id: 'doc',
      _rev: fakeRev(3, 'c'),
      n: 3,
      _revisions: { start: 3, ids: [fakeHash('c'), fakeHash('b'), fakeHash('a')] },
    });
    const before = await t.info();
    await t.replicate([replicated('doc', 3, 'cba', { n: 3 })]);
    assert.deepEqual(at(await t.info(), 'update_seq'), at(before, 'update_seq'));
  }),

  test('the limit is an integer of at least 1', async (t) => {
    const reason = 'Rev limit has to be an integer';
    for (const body of ['"5"', '1.5', 'true', '{}', '[5]', 'null']) {
      assertError(await t.at('PUT', '/_revs_limit', { body }), 400, 'bad_request', reason);
    }
    for (const body of ['0', '-1']) {
      assert.equal((await t.at('PUT', '/_revs_limit', { body })).status, 400);
    }
    assert.equal((await t.get('/_revs_limit')).text, '1000\n');
  }),

  test('only PUT and GET are allowed', async (t) => {
    assertAllowed(await t.at('POST', '/_revs_limit', { body: '5' }), 'PUT,GET');
    assertAllowed(await t.at('DELETE', '/_revs_limit'), 'PUT,GET');
  }),
]);
