import { assert } from 'chai';
import { assertAllowed, assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { nextPoll, type Toolkit } from '../../support/conformance/toolkit.ts';
import { numbered, putViews, query } from '../../support/conformance/view-steps.ts';
import { deadlineMs } from '../../support/conformance/with-deadline.ts';

const headers = { 'content-type': 'application/json' };

async function compactionEnd(t: Toolkit): Promise<void> {
  const giveUpAt = Date.now() + deadlineMs;
  while (at((await t.get('/_design/test/_info')).json, 'view_index', 'compact_running') === true) {
    assert.isBelow(Date.now(), giveUpAt, 'compaction should have ended');
    await nextPoll();
  }
}

/** `_compact/{ddoc}` (docs/http/views.md#index-compaction): the same rows in less space. */
export default suite('view_compaction', [
  test('compaction changes no row, and queries continue meanwhile', async (t) => {
    await putViews(t, { v: { map: 'function (doc) { emit(doc.integer, doc.string); }', reduce: '_count' } });
    let docs: readonly object[] = await t.bulk(numbered(500)).then((rows) => rows.map((row) => Object(row)));
    for (let round = 0; round < 3; round += 1) {
      const next = numbered(500).map((doc, n) => ({ ...doc, _rev: at(docs[n], 'rev'), integer: doc.integer + round }));
      docs = (await t.bulk(next)).map((row) => Object(row));
      await query(t, 'v');
    }
    const before = await query(t, 'v?reduce=false');
    assertJson(await t.at('POST', '/_compact/test', { headers }), 202, { ok: true });
    assertJson(await t.at('POST', '/_compact/test', { headers }), 202, { ok: true });
    assert.deepEqual((await query(t, 'v?reduce=false')).json, before.json);
    await compactionEnd(t);
    assert.deepEqual((await query(t, 'v?reduce=false')).json, before.json);
    await t.put('more', { integer: -1 });
    assertJson(await query(t, 'v'), 200, { rows: [{ key: null, value: 501 }] });
  }),

  test('compaction needs POST of JSON, and an existing design document', async (t) => {
    const reason = 'Content-Type must be application/json';
    assertError(await t.at('POST', '/_compact/test'), 415, 'bad_content_type', reason);
    assertError(await t.at('POST', '/_compact/test', { headers }), 404, 'not_found', 'missing');
    assertAllowed(await t.get('/_compact/test'), 'POST');
  }),
]);
