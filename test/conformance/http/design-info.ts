import { assert } from 'chai';
import { assertAllowed, assertError } from '../../support/conformance/answer.ts';
import { at, numberAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { numbered, putViews, query } from '../../support/conformance/view-steps.ts';

async function infoOf(t: Toolkit, name = 'test'): Promise<unknown> {
  const answer = await t.get(`/_design/${name}/_info`);
  assert.equal(answer.status, 200, answer.text);
  return answer.json;
}

/** `_info` of a design document (docs/http/views.md#index-information). */
export default suite('design_info', [
  test('_info has the members of the interface', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.integer, doc.string); }' });
    await t.bulk(numbered(20));
    await query(t, 'v');
    const info = await infoOf(t);
    assert.hasAllKeys(info, ['name', 'view_index']);
    assert.equal(at(info, 'name'), 'test');
    const index = at(info, 'view_index');
    assert.hasAllKeys(index, [
      'compact_running',
      'data_size',
      'disk_size',
      'language',
      'purge_seq',
      'signature',
      'sizes',
      'update_seq',
      'updater_running',
      'waiting_clients',
      'waiting_commit',
    ]);
    assert.deepInclude(index, {
      compact_running: false,
      language: 'javascript',
      purge_seq: 0,
      update_seq: 21,
      updater_running: false,
      waiting_clients: 0,
    });
    assert.match(`${at(index, 'signature')}`, /^[0-9a-f]{32}$/);
    assert.isAbove(numberAt(index, 'data_size'), 0);
    assert.isAtLeast(numberAt(index, 'disk_size'), 0);
    // What later versions call these, and their administration tools ask for.
    const [file, live] = [at(index, 'disk_size'), at(index, 'data_size')];
    assert.deepEqual(at(index, 'sizes'), { file, external: live, active: live });
  }),

  test('the signature depends on the views only', async (t) => {
    const views = { v: { map: 'function (doc) {}' } };
    const rev = await t.put('_design/test', { views });
    const signature = at(await infoOf(t), 'view_index', 'signature');
    await t.put('_design/test', { _rev: rev, views, shows: { s: 'function () { return ""; }' } });
    await t.put('_design/same', { views });
    await t.put('_design/other', { views: { v: { map: 'function (doc) { emit(1); }' } } });
    assert.equal(at(await infoOf(t), 'view_index', 'signature'), signature);
    assert.equal(at(await infoOf(t, 'same'), 'view_index', 'signature'), signature);
    assert.notEqual(at(await infoOf(t, 'other'), 'view_index', 'signature'), signature);
  }),

  test('_info exists for a design document without views, and for no other document', async (t) => {
    await t.put('_design/empty', {});
    assert.equal(at(await infoOf(t, 'empty'), 'name'), 'empty');
    assertError(await t.get('/_design/none/_info'), 404, 'not_found', 'missing');
    assertAllowed(await t.at('PUT', '/_design/empty/_info'), 'GET');
  }),
]);
