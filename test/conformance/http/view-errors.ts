import { assert } from 'chai';
import { assertError, assertJson } from '../../support/conformance/answer.ts';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import { databasePath, nextPoll, type Toolkit } from '../../support/conformance/toolkit.ts';
import { putViews, query } from '../../support/conformance/view-steps.ts';

const map = 'function (doc) { emit(doc.integer, doc.integer); }';

function putBoth(t: Toolkit): Promise<string> {
  return putViews(t, { plain: map, reduced: { map, reduce: '_sum' } });
}

const refused: readonly [string, string][] = [
  ['plain?count=3', 'QS param `count` is not `limit`'],
  ['plain?descending=yes', 'Invalid boolean parameter: yes'],
  ['plain?include_docs=', 'Invalid boolean parameter: '],
  ['reduced?group=1', 'Invalid boolean parameter: 1'],
  ['reduced?reduce=maybe', 'Invalid boolean parameter: maybe'],
  ['plain?limit=many', 'Invalid value for integer: many'],
  ['reduced?group_level=x', 'Invalid value for integer: x'],
  ['plain?limit=-1', 'Invalid value for positive integer: -1'],
  ['plain?skip=-1', 'Invalid value for positive integer: -1'],
  ['reduced?group_level=-1', 'Invalid value for positive integer: -1'],
  ['plain?stale=foo', 'Invalid value for `stale`.'],
  ['plain?reduce=true', 'Reduce is invalid for map-only views.'],
  ['plain?group=true', 'Invalid use of grouping on a map view.'],
  ['plain?group_level=1', 'Invalid use of grouping on a map view.'],
  ['reduced?reduce=false&group=true', 'Invalid use of grouping on a map view.'],
  ['reduced?include_docs=true', '`include_docs` is invalid for reduce'],
  ['reduced?conflicts=true', '`conflicts` is invalid for reduce views.'],
  ['plain?keys=[1]&key=1', '`keys` is incompatible with `key`, `start_key` and `end_key`'],
  ['plain?keys=[1]&startkey=1', '`keys` is incompatible with `key`, `start_key` and `end_key`'],
  ['plain?keys=[1]&end_key=1', '`keys` is incompatible with `key`, `start_key` and `end_key`'],
  ['reduced?keys=[1,2]', 'Multi-key fetchs for reduce views must use `group=true`'],
  ['reduced?keys=[1,2]&group_level=1', 'Multi-key fetchs for reduce views must use `group=true`'],
];

/** Runs the function without an end, and returns how many pairs of other requests are answered before it is ended. */
async function answersBesideEndless(t: Toolkit): Promise<number> {
  let isOver = false;
  const hostile = t.get('/_design/test/_view/v').finally(() => {
    isOver = true;
  });
  // The failure is found below.
  hostile.catch(() => undefined);
  let answered = 0;
  while (!isOver) {
    for (const path of [databasePath(`${t.db}_neighbour`), `${databasePath(t.db)}/a`]) {
      assert.equal((await t.request('GET', path)).status, 200);
    }
    if (!isOver) answered += 1;
    await nextPoll();
  }
  assertError(await hostile, 500, 'os_process_error', 'OS process timed out.');
  return answered;
}

/** What a query can't ask, and what a view's functions can do wrong (docs/http/bulk.md#parameter-errors). */
export default suite('view_errors', [
  test('invalid parameters are refused, and the reason names the parameter', async (t) => {
    await putBoth(t);
    for (const [what, reason] of refused) {
      assertError(await t.get(`/_design/test/_view/${what}`), 400, 'query_parse_error', reason);
    }
  }),

  test('keys must be JSON', async (t) => {
    await putBoth(t);
    for (const what of ['key=abc', 'startkey="', 'endkey=', 'keys=[1']) {
      assertError(await t.get(`/_design/test/_view/plain?${what}`), 400, 'bad_request', 'invalid_json');
    }
    assertError(await t.get('/_design/test/_view/plain?keys=1'), 400, 'bad_request', '`keys` member must be a array.');
    const posted = await t.at('POST', '/_design/test/_view/plain', { json: { keys: {} } });
    assertError(posted, 400, 'bad_request', '`keys` member must be a array.');
    const deep = `{"startkey":${'['.repeat(5000)}${']'.repeat(5000)}}`;
    const nested = await t.at('POST', '/_design/test/_view/plain', { body: deep });
    assertError(
      nested,
      400,
      'bad_request',
      'The JSON has arrays and objects in more than 1000 levels; send what is nested deeper as a string.',
    );
    const list = await t.at('POST', '/_design/test/_view/plain', { json: [1] });
    assertError(list, 400, 'bad_request', 'Request body must be a JSON object');
  }),

  test('group=false is accepted by a map view', async (t) => {
    await putBoth(t);
    assertJson(await query(t, 'plain?group=false'), 200, { total_rows: 0, offset: 0, rows: [] });
    assertJson(await query(t, 'reduced?reduce=false&include_docs=true'), 200, { total_rows: 0, offset: 0, rows: [] });
  }),

  test('a map function that throws leaves out that document only', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc.a.b, null); }', w: 'function (doc) { emit(doc._id, null); }' });
    await t.bulk([{ _id: '1', a: { b: 1 } }, { _id: '2' }, { _id: '3', a: { b: 3 } }]);
    assert.deepEqual(at((await query(t, 'v')).json, 'total_rows'), 2);
    assert.deepEqual(at((await query(t, 'w')).json, 'total_rows'), 3);
  }),

  test('a map function with a syntax error is reported as such', async (t) => {
    await putViews(t, { v: 'function (doc) { emit(doc._id' });
    await t.put('a', {});
    const answer = await t.get('/_design/test/_view/v');
    assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'compilation_error']);
    await putViews(t, { v: '42' }, { _rev: (await t.get('/_design/test')).header('etag')?.slice(1, -1) });
    assert.equal(at((await t.get('/_design/test/_view/v')).json, 'error'), 'compilation_error');
  }),

  test('throwing fatal_error ends the build', async (t) => {
    await putViews(t, { v: 'function (doc) { throw ["fatal", "out_of_paper", "no more " + doc._id]; }' });
    await t.put('a', {});
    assertError(await t.get('/_design/test/_view/v'), 500, 'out_of_paper', 'no more a');
  }),

  test('a reduce function that throws returns null', async (t) => {
    await putViews(t, { v: { map, reduce: 'function (keys, values) { throw new Error("no"); }' } });
    await t.put('a', { integer: 1 });
    assertJson(await query(t, 'v'), 200, { rows: [{ key: null, value: null }] });
  }),

  test("a reduction that doesn't shrink is refused", async (t) => {
    await putViews(t, {
      v: {
        map,
        reduce:
          'function (keys, values) { var all = []; keys && keys.forEach(function (k) { all.push("a text of forty characters, more or less", k); }); return all; }',
      },
    });
    await t.bulk(Array.from({ length: 20 }, (_, integer) => ({ _id: `${integer}`, integer })));
    const answer = await t.get('/_design/test/_view/v');
    assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'reduce_overflow_error']);
    assert.match(`${at(answer.json, 'reason')}`, /^Reduce output must shrink more rapidly: /);
  }),

  test('_sum of a value that is not a number is an error', async (t) => {
    await putViews(t, { v: { map: 'function (doc) { emit(1, doc.value); }', reduce: '_sum' } });
    await t.bulk([{ value: 1 }, { value: 'two' }]);
    const answer = await t.get('/_design/test/_view/v');
    assert.deepEqual([answer.status, at(answer.json, 'error')], [500, 'invalid_value']);
    assert.match(
      `${at(answer.json, 'reason')}`,
      /^builtin _sum function requires map values to be numbers or lists of numbers/,
    );
    assert.equal(at((await query(t, 'v?reduce=false')).json, 'total_rows'), 2);
  }),

  test(
    'a map function that never ends is stopped, and other requests are answered meanwhile',
    async (t) => {
      // Where there are no settings it takes 5 s.
      const hasSettings = t.host.capabilities.settings === true;
      const patient = hasSettings ? await t.withSettings({ svc: { os_process_timeout: '1500' } }) : t;
      await patient.createDatabase(`${t.db}_neighbour`);
      await putViews(patient, { v: 'function (doc) { while (true); }' });
      await patient.put('a', {});
      // If the function held up others, one of them at most would be answered before it ends. A busy machine may need another attempt.
      let answered = 0;
      for (let attempt = 1; answered < 5 && attempt <= 5; attempt += 1) answered = await answersBesideEndless(patient);
      assert.isAtLeast(answered, 5, 'answers before the function was ended');
    },
    { needs: ['function-threads'] },
  ),
]);
