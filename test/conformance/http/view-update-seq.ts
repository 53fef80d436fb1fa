import { assert } from 'chai';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { nextPoll, type Toolkit } from '../../support/conformance/toolkit.ts';
import { numbered, putViews, query } from '../../support/conformance/view-steps.ts';
import { deadlineMs } from '../../support/conformance/with-deadline.ts';

async function seqOf(t: Toolkit, parameters: string): Promise<unknown> {
  return at((await query(t, `v?update_seq=true&${parameters}`)).json, 'update_seq');
}

/** `update_seq`, and the ways not to wait for an update: `stale` and its later name `update` (docs/http/views.md#stale-views). */
export default suite('view_update_seq', [
  test('update_seq is returned on request only', async (t) => {
    await putViews(t, { v: { map: 'function (doc) { emit(1, 1); }', reduce: '_sum' } });
    await t.bulk(numbered(10));
    assert.notProperty((await query(t, 'v?reduce=false&limit=0')).json, 'update_seq');
    assert.equal(await seqOf(t, 'reduce=false&limit=0'), 11);
    assert.deepEqual((await query(t, 'v?update_seq=true')).json, { update_seq: 11, rows: [{ key: null, value: 10 }] });
  }),

  test('stale=ok returns the index without updating it', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(1, 1); }' });
    await t.bulk(numbered(10));
    assert.equal(await seqOf(t, ''), 11);
    await t.put('more', {});
    assert.equal(await seqOf(t, 'stale=ok'), 11);
    assert.equal(at((await query(t, 'v?update=false')).json, 'total_rows'), 10);
    assert.equal(await seqOf(t, 'stale=ok'), 11);
    assert.equal(await seqOf(t, 'update=true'), 12);
    assert.equal(await seqOf(t, 'stale=ok'), 12);
  }),

  updatesAfterwards('stale=update_after'),
  updatesAfterwards('update=lazy'),
]);

function updatesAfterwards(parameter: string) {
  return test(`${parameter} returns first and updates the index later`, async (t) => {
    await putViews(t, { v: 'function (doc) { emit(1, 1); }' });
    await t.bulk(numbered(10));
    assert.equal(await seqOf(t, ''), 11);
    await t.put('more', {});
    assert.equal(await seqOf(t, parameter), 11);
    const giveUpAt = Date.now() + deadlineMs;
    while ((await seqOf(t, 'stale=ok')) !== 12) {
      assert.isBelow(Date.now(), giveUpAt, 'the update should have come');
      await nextPoll();
    }
  });
}
