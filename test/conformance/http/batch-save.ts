import { assert } from 'chai';
import { assertJson } from '../../support/conformance/answer.ts';
import { arrayAt, at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { nextPoll, type Toolkit } from '../../support/conformance/toolkit.ts';
import { deadlineMs } from '../../support/conformance/with-deadline.ts';

async function flush(t: Toolkit): Promise<void> {
  const answer = await t.at('POST', '/_ensure_full_commit', { headers: { 'content-type': 'application/json' } });
  assert.equal(answer.status, 201, answer.text);
}

/** `batch=ok` (docs/http/documents.md#batch-writes): taken at once, written a little later. */
export default suite('batch_save', [
  test('PUT with batch=ok is answered 202, without a revision', async (t) => {
    const answer = await t.at('PUT', '/doc?batch=ok', { json: { n: 1 } });
    assertJson(answer, 202, { ok: true, id: 'doc' });
    assert.equal(answer.header('location'), `${t.baseUrl}/${t.db}/doc`);
    assert.notProperty(answer.headers, 'etag');
    await flush(t);
    const read = await t.get('/doc');
    assert.deepInclude(read.json, { _id: 'doc', n: 1 });
    assert.match(stringAt(read.json, '_rev'), /^1-/);
  }),

  test('POST with batch=ok is answered 202, with the given or generated id', async (t) => {
    assertJson(await t.at('POST', '?batch=ok', { json: { _id: 'given' } }), 202, { ok: true, id: 'given' });
    const unnamed = await t.at('POST', '?batch=ok', { json: { n: 1 } });
    const id = stringAt(unnamed.json, 'id');
    assertJson(unnamed, 202, { ok: true, id });
    assert.equal(unnamed.header('location'), `${t.baseUrl}/${t.db}/${id}`);
    await flush(t);
    const ids = arrayAt((await t.get('/_all_docs')).json, 'rows').map((row) => at(row, 'id'));
    assert.sameMembers(ids, ['given', id]);
  }),

  test('many writes with batch=ok are written together', async (t) => {
    for (let n = 0; n < 100; n += 1) await t.at('POST', '?batch=ok', { json: { n } });
    await flush(t);
    assert.deepInclude(await t.info(), { doc_count: 100, update_seq: 100 });
  }),

  test('writes with batch=ok are written without _ensure_full_commit', async (t) => {
    await t.at('PUT', '/doc?batch=ok', { json: {} });
    const giveUpAt = Date.now() + deadlineMs;
    while ((await t.get('/doc')).status === 404) {
      assert.isBelow(Date.now(), giveUpAt, 'should have been written');
      await nextPoll();
    }
  }),

  test('a conflicting write with batch=ok is dropped without an error', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    assert.equal((await t.at('PUT', '/doc?batch=ok', { json: { n: 2 } })).status, 202);
    await flush(t);
    assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: rev, n: 1 });
  }),

  test('an update with batch=ok is written', async (t) => {
    const rev = await t.put('doc', { n: 1 });
    assert.equal((await t.at('PUT', '/doc?batch=ok', { json: { _rev: rev, n: 2 } })).status, 202);
    await flush(t);
    assert.deepInclude((await t.get('/doc')).json, { n: 2 });
  }),

  test('an invalid document with batch=ok is refused at once', async (t) => {
    assert.equal((await t.at('PUT', '/doc?batch=ok', { json: { _zing: 1 } })).status, 400);
    assert.equal((await t.at('PUT', '/doc?batch=ok', { body: '{' })).status, 400);
  }),
]);
