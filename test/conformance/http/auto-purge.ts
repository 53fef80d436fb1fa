import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { arrayAt, at, numberAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { nextPoll, type Toolkit } from '../../support/conformance/toolkit.ts';

const FORMS = 'a number and a unit such as 90_days or 3_months (sec, min, hour, day, week, month), or infinity';

async function setPeriod(t: Toolkit, json: Record<string, unknown>): Promise<void> {
  assertJson(await t.at('PUT', '/_auto_purge', { json }), 201, { ok: true });
}

/** Lets tombstones count from now, and asks for purges until only that many are left. */
async function purgeTo(t: Toolkit, left: number): Promise<void> {
  assertJson(await t.at('DELETE', '/_time_seq'), 200, { ok: true });
  for (;;) {
    await setPeriod(t, { deleted_document_ttl: '1_sec' });
    for (let poll = 0; poll < 10; poll++) {
      if (numberAt(await t.info(), 'doc_del_count') === left) return;
      await nextPoll();
    }
  }
}

async function tombstone(t: Toolkit, name: string): Promise<void> {
  await t.delete(name, await t.put(name, { name }));
}

/** `_auto_purge` (docs/http/databases.md#automatic-purge). */
export default suite('auto_purge', [
  test('the object is kept as it was set, and can be unset', async (t) => {
    assertJson(await t.get('/_auto_purge'), 200, {});
    await setPeriod(t, { deleted_document_ttl: '3_mon' });
    assertJson(await t.get('/_auto_purge'), 200, { deleted_document_ttl: '3_mon' });
    await setPeriod(t, { deleted_document_ttl: 'infinity', ignored_peers: ['_local/phone'] });
    assertJson(await t.get('/_auto_purge'), 200, {
      deleted_document_ttl: 'infinity',
      ignored_peers: ['_local/phone'],
    });
    await setPeriod(t, {});
    assertJson(await t.get('/_auto_purge'), 200, {});
  }),

  test('what it can not mean is refused', async (t) => {
    const refused = async (json: unknown, reason: string) =>
      assertError(await t.at('PUT', '/_auto_purge', { json }), 400, 'bad_request', reason);
    for (const period of ['3 months', '0_days', '', 90, null]) {
      await refused({ deleted_document_ttl: period }, `deleted_document_ttl must be ${FORMS}.`);
    }
    await refused({ ignored_peers: '_local/a' }, 'ignored_peers must be a list of at most 1000 document ids.');
    await refused({ ttl: 1 }, '"ttl" is unknown. _auto_purge has deleted_document_ttl and ignored_peers.');
    await refused([], 'Request body must be a JSON object');
    assertJson(await t.get('/_auto_purge'), 200, {});
  }),

  test('old tombstones disappear from the database, its changes and its views; the rest stays', async (t) => {
    const map = 'function (doc) { emit(doc.name); }';
    await t.put('_design/d', { views: { v: { map } } });
    await t.put('alive', { name: 'alive' });
    const rev = await t.put('gone', { name: 'gone' });
    const keys = async () => arrayAt((await t.get('/_design/d/_view/v')).json, 'rows').map((row) => at(row, 'key'));
    assert.deepEqual(await keys(), ['alive', 'gone']);
    // The index learns of the deletion only by the purge.
    await t.delete('gone', rev);
    await purgeTo(t, 0);
    assert.deepEqual(await keys(), ['alive']);
    const listed = arrayAt((await t.get('/_changes')).json, 'results').map((row) => at(row, 'id'));
    assert.deepEqual(listed, ['_design/d', 'alive']);
    assertError(await t.get('/gone'), 404, 'not_found', 'missing');
    assert.deepInclude(await t.info(), { doc_count: 2, doc_del_count: 0, purge_seq: 1 });
    assert.equal(await t.put('gone', { name: 'gone' }), rev);
  }),

  test('a tombstone stays as long as a known peer has not read it', async (t) => {
    await tombstone(t, 'a');
    await tombstone(t, 'b');
    const peer = (seq: number) => ({ side: 'source', session_id: 's', source_last_seq: seq, history: [] });
    const rev = await t.put('_local/phone', peer(2));
    await purgeTo(t, 1);
    const listed = await t.get('/_auto_purge/peers');
    assert.deepInclude(listed.json, { purge_until_seq: 2, deleted_document_ttl_seconds: 1 });
    assert.deepInclude(arrayAt(listed.json, 'peers')[0], {
      id: '_local/phone',
      side: 'source',
      seq: 2,
      state: 'behind',
    });
    assert.equal(arrayAt((await t.get('/_changes')).json, 'results').length, 1);
    await t.put('_local/phone', { ...peer(4), _rev: rev });
    await purgeTo(t, 0);
  }),
]);
