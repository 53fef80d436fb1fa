import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { fakeHash, fakeRev, replicated } from '../../support/conformance/fake-revisions.ts';
import { arrayAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const b = { _id: 'doc', _rev: fakeRev(2, 'b'), n: 1 };
const c = { _id: 'doc', _rev: fakeRev(2, 'c'), n: 2 };
const gone = { _id: 'doc', _rev: fakeRev(3, 'd'), _deleted: true };

/** Three leaves below one root: `2-b…`, `2-c…`, and the tombstone `3-d…`. */
async function threeLeaves(t: Toolkit): Promise<void> {
  await t.replicate([
    replicated('doc', 2, 'ba', { n: 1 }),
    replicated('doc', 2, 'ca', { n: 2 }),
    replicated('doc', 3, 'dea', { _deleted: true }),
  ]);
}

function revs(...list: readonly string[]): string {
  return `open_revs=${encodeURIComponent(JSON.stringify(list))}`;
}

/** The boundary that the answer's head gives (docs/http/documents.md#multipart-answers: always in quotes). */
function boundaryOf(type: string | undefined): string {
  const found = /^multipart\/mixed; boundary="([^"]+)"$/.exec(type ?? '');
  assert.isNotNull(found, `${type} should be multipart/mixed with a boundary`);
  return found?.[1] ?? '';
}

/** `open_revs` (docs/http/documents.md#open-revisions): many revisions of one document at once. */
export default suite('open_revs', [
  test('open_revs=all returns every leaf, also deleted ones', async (t) => {
    await threeLeaves(t);
    const answer = await t.get('/doc?open_revs=all');
    assert.equal(answer.status, 200);
    assert.sameDeepMembers([...arrayAt(answer.json)], [{ ok: b }, { ok: c }, { ok: gone }]);
  }),

  test('a list returns its revisions in its order', async (t) => {
    await threeLeaves(t);
    const query = revs(fakeRev(2, 'c'), fakeRev(9, '9'), fakeRev(3, 'd'), fakeRev(2, 'b'));
    assertJson(await t.get(`/doc?${query}`), 200, [{ ok: c }, { missing: fakeRev(9, '9') }, { ok: gone }, { ok: b }]);
  }),

  test('only the winner lists its conflicts', async (t) => {
    await threeLeaves(t);
    const others = { _conflicts: [fakeRev(2, 'b')], _deleted_conflicts: [fakeRev(3, 'd')] };
    const all = [{ ok: { ...c, ...others } }, { ok: b }, { ok: gone }];
    const flags = 'conflicts=true&deleted_conflicts=true';
    assert.sameDeepMembers([...arrayAt((await t.get(`/doc?open_revs=all&${flags}`)).json)], all);
    const bulk = await t.at('POST', `/_bulk_get?${flags}`, { json: { docs: [{ id: 'doc' }] } });
    assert.sameDeepMembers([...arrayAt(bulk.json, 'results', 0, 'docs')], all);
    assertJson(await t.get(`/doc?rev=${fakeRev(2, 'b')}&conflicts=true`), 200, { ...b, _conflicts: others._conflicts });
  }),

  test('a document deleted on every branch still has its leaves', async (t) => {
    await t.replicate([replicated('doc', 2, 'da', { _deleted: true })]);
    assertJson(await t.get('/doc?open_revs=all'), 200, [{ ok: { _id: 'doc', _rev: fakeRev(2, 'd'), _deleted: true } }]);
  }),

  test('an unknown document is answered 200, with no leaves, or with every revision missing', async (t) => {
    assertJson(await t.get('/nobody?open_revs=all'), 200, []);
    assertJson(await t.get(`/nobody?${revs(fakeRev(1, 'a'))}`), 200, [{ missing: fakeRev(1, 'a') }]);
  }),

  test('an empty list is treated as a normal read', async (t) => {
    await threeLeaves(t);
    assertJson(await t.get('/doc?open_revs=[]'), 200, c);
  }),

  test('an ancestor replicated without its body is missing', async (t) => {
    await threeLeaves(t);
    assertJson(await t.get(`/doc?${revs(fakeRev(1, 'a'))}`), 200, [{ missing: fakeRev(1, 'a') }]);
  }),

  test('a revision removed by compaction is missing', async (t) => {
    const first = await t.put('doc', { n: 1 });
    const second = await t.put('doc', { _rev: first, n: 2 });
    await t.compact();
    assertJson(await t.get(`/doc?${revs(first, second)}`), 200, [
      { missing: first },
      { ok: { _id: 'doc', _rev: second, n: 2 } },
    ]);
  }),

  test('latest=true returns the leaves below a requested ancestor', async (t) => {
    await threeLeaves(t);
    const below = await t.get(`/doc?latest=true&${revs(fakeRev(1, 'a'))}`);
    assert.sameDeepMembers([...arrayAt(below.json)], [{ ok: b }, { ok: c }, { ok: gone }]);
    assertJson(await t.get(`/doc?latest=true&${revs(fakeRev(2, 'e'))}`), 200, [{ ok: gone }]);
    assertJson(await t.get(`/doc?latest=true&${revs(fakeRev(2, 'b'))}`), 200, [{ ok: b }]);
  }),

  test('latest=true with rev returns the newest leaf below that revision', async (t) => {
    await threeLeaves(t);
    assertJson(await t.get(`/doc?rev=${fakeRev(1, 'a')}&latest=true`), 200, c);
    assertJson(await t.get(`/doc?rev=${fakeRev(2, 'e')}&latest=true`), 200, gone);
    assertJson(await t.get(`/doc?rev=${fakeRev(2, 'b')}&latest=true`), 200, b);
    assertError(await t.get(`/doc?rev=${fakeRev(9, '9')}&latest=true`), 404, 'not_found', 'missing');
    assertError(await t.get(`/doc?rev=${fakeRev(1, 'a')}`), 404, 'not_found', 'missing');
  }),

  test('revs=true adds the ancestors to each revision', async (t) => {
    await threeLeaves(t);
    assertJson(await t.get(`/doc?revs=true&${revs(fakeRev(3, 'd'), fakeRev(2, 'b'))}`), 200, [
      { ok: { ...gone, _revisions: { start: 3, ids: [fakeHash('d'), fakeHash('e'), fakeHash('a')] } } },
      { ok: { ...b, _revisions: { start: 2, ids: [fakeHash('b'), fakeHash('a')] } } },
    ]);
  }),

  test('multipart/mixed has one part per revision, in the exact format', async (t) => {
    await threeLeaves(t);
    const query = revs(fakeRev(2, 'b'), fakeRev(9, '9'), fakeRev(3, 'd'));
    const answer = await t.get(`/doc?${query}`, { accept: 'multipart/mixed' });
    assert.equal(answer.status, 200);
    const boundary = boundaryOf(answer.header('content-type'));
    assert.equal(
      answer.text,
      `--${boundary}\r\n` +
        'Content-Type: application/json\r\n\r\n' +
        `{"_id":"doc","_rev":"${fakeRev(2, 'b')}","n":1}\r\n` +
        `--${boundary}\r\n` +
        'Content-Type: application/json; error="true"\r\n\r\n' +
        `{"missing":"${fakeRev(9, '9')}"}\r\n` +
        `--${boundary}\r\n` +
        'Content-Type: application/json\r\n\r\n' +
        `{"_id":"doc","_rev":"${fakeRev(3, 'd')}","_deleted":true}\r\n` +
        `--${boundary}--`,
    );
  }),

  test('a client that accepts anything gets multipart, and one that accepts JSON gets JSON', async (t) => {
    await threeLeaves(t);
    for (const accept of ['*/*', 'multipart/*', 'multipart/mixed, application/json;q=0.5']) {
      boundaryOf((await t.get('/doc?open_revs=all', { accept })).header('content-type'));
    }
    for (const accept of ['application/json', 'multipart/related, application/json', 'multipart/mixed;q=0, */*;q=0']) {
      assert.lengthOf(arrayAt((await t.get('/doc?open_revs=all', { accept })).json), 3, accept);
    }
  }),

  test(
    'a missing Accept accepts anything',
    async (t) => {
      await threeLeaves(t);
      boundaryOf((await t.get('/doc?open_revs=all', { accept: '' })).header('content-type'));
    },
    { needs: ['bare-accept'] },
  ),

  test('the boundary does not occur in the documents', async (t) => {
    const answer = await t.at('PUT', '/doc', { json: { text: '--'.repeat(40), more: '\r\n--x--\r\n' } });
    assert.equal(answer.status, 201);
    const read = await t.get('/doc?open_revs=all', { accept: 'multipart/mixed' });
    assert.lengthOf(read.text.split(`--${boundaryOf(read.header('content-type'))}`), 3);
  }),

  test('an invalid list of revisions is refused', async (t) => {
    await threeLeaves(t);
    assertError(await t.get('/doc?open_revs=some'), 400, 'bad_request', 'invalid_json');
    assertError(await t.get(`/doc?${revs('nonsense')}`), 400, 'bad_request', 'Invalid rev format');
  }),
]);
