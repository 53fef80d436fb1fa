import { assert } from 'chai';
import { assertError } from '../../support/conformance/answer.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';
import { putViews, query, rowsOf } from '../../support/conformance/view-steps.ts';

const map = 'function (doc) { emit(doc._id, 1); }';
/**
 * Longer than the first limit, and shorter than the second, also where functions have a tenth of them. The time is looked at now and then alone:
 * it goes on for so many steps, in case the process was not running meanwhile.
 */
const dawdle = 'var end = Date.now() + 400; while (Date.now() < end); for (var n = 0; n < 50000; n++);';
const hasty = { svc: { os_process_timeout: '200' } };

async function setTo(t: Toolkit, setting: string, value: string): Promise<void> {
  const answer = await t.request('PUT', `/_config/${setting}`, { json: value, headers: { 'x-svc-persist': 'false' } });
  assert.equal(answer.status, 200, answer.text);
}

/** A change of what functions are bound by counts at once (docs/http/server.md#settings). */
export default suite('function_limits', [
  test(
    'a reduce function that was too slow runs again after the time limit is raised',
    async (t) => {
      const other = await t.withSettings(hasty);
      await putViews(other, { v: { map, reduce: `function (keys, values) { ${dawdle} return values.length; }` } });
      await other.put('a', {});
      assertError(await other.get('/_design/test/_view/v'), 500, 'os_process_error', 'OS process timed out.');
      await setTo(other, 'svc/os_process_timeout', '600000');
      assert.deepEqual(rowsOf(await query(other, 'v')), [{ key: null, value: 1 }]);
    },
    { needs: ['settings'] },
  ),

  test(
    'a validation function that was too slow runs again after the time limit is raised',
    async (t) => {
      const other = await t.withSettings(hasty);
      await other.put('_design/slow', { validate_doc_update: `function () { ${dawdle} }` });
      const refused = await other.at('PUT', '/a', { json: {} });
      assertError(refused, 500, 'os_process_error', 'OS process timed out.');
      await setTo(other, 'svc/os_process_timeout', '600000');
      await other.put('a', {});
      await setTo(other, 'svc/os_process_timeout', '200');
      assert.equal((await other.at('PUT', '/b', { json: {} })).status, 500);
    },
    { needs: ['settings'] },
  ),

  test(
    'a reduction refused for its growth is accepted after reduce_limit is turned off',
    async (t) => {
      const other = await t.withSettings({ query_server_config: { reduce_limit: 'true' } });
      const reduce = `function () { return "${'x'.repeat(300)}"; }`;
      await putViews(other, { v: { map, reduce }, count: { map, reduce: '_count' } });
      await other.put('a', {});
      const refused = await other.get('/_design/test/_view/v');
      assert.deepInclude(refused.json, { error: 'reduce_overflow_error' });
      await setTo(other, 'query_server_config/reduce_limit', 'log');
      assert.deepEqual(rowsOf(await query(other, 'v?stale=update_after&reduce=false')).length, 1);
      assert.deepEqual(rowsOf(await query(other, 'v')), [{ key: null, value: 'x'.repeat(300) }]);
      assert.deepEqual(rowsOf(await query(other, 'count')), [{ key: null, value: 1 }]);
      await setTo(other, 'query_server_config/reduce_limit', 'true');
      await other.put('b', {});
      assert.equal((await other.get('/_design/test/_view/v')).status, 500);
      await setTo(other, 'query_server_config/reduce_limit', 'false');
      assert.deepEqual(rowsOf(await query(other, 'v?group=true')).length, 2);
      assert.deepEqual(rowsOf(await query(other, 'v')), [{ key: null, value: 'x'.repeat(300) }]);
    },
    { needs: ['settings'] },
  ),
]);
