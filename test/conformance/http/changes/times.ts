import { assert } from 'chai';
import { assertJson } from '../../../support/conformance/answer.ts';
import { at } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { nextPoll, type Toolkit } from '../../../support/conformance/toolkit.ts';
import { changes } from './steps.ts';

const RANGE = '00000000-ffffffff';
const NODE = 'nonode@nohost';

/** The beginnings of the stretches of time, and their numbers of changes. */
async function stretches(t: Toolkit): Promise<readonly (readonly [string, number])[]> {
  const answer = await t.get('/_time_seq');
  assert.equal(answer.status, 200, answer.text);
  const rows: unknown = at(at(at(answer.json, 'time_seq'), RANGE), NODE);
  assert.isArray(rows);
  return rows as [string, number][];
}

/** Resolves when a checkpoint has noted a time for all changes; returns it. */
async function notedTime(t: Toolkit): Promise<string> {
  for (;;) {
    const [time, later] = (await stretches(t)).at(-1) ?? ['', 1];
    if (later === 0) return time;
    await nextPoll();
  }
}

/** Changes since a time, and `_time_seq` (docs/http/changes.md#times). */
export default suite('changes_times', [
  test('a database without changes has no times', async (t) => {
    assertJson(await t.get('/_time_seq'), 200, { time_seq: { [RANGE]: { [NODE]: [] } } });
    assert.deepInclude(await changes(t, 'since=2001-02-03T04:05:06Z'), { rows: [], lastSeq: 0 });
  }),

  test('since a time lists what was changed later, and all changes for a time before the first one', async (t) => {
    await t.put('early', {});
    const time = await notedTime(t);
    assert.match(time, /^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.deepInclude(await changes(t, `since=${time}`), { rows: [], lastSeq: 1 });
    await t.put('late', {});
    const idsSince = async (since: string) => (await changes(t, `since=${since}`)).rows.map((row) => at(row, 'id'));
    assert.deepEqual(await idsSince(time), ['late']);
    assert.deepEqual(await idsSince(`%22${time}%22`), ['late']);
    assert.deepEqual(await idsSince(time.replace('Z', '.250Z')), ['late']);
    assert.deepEqual(await idsSince('2001-02-03T04:05:06Z'), ['early', 'late']);
    assert.deepInclude(await changes(t, 'since=2999-01-01T00:00:00Z'), { rows: [], lastSeq: 2 });
  }),

  test('_time_seq counts the changes of each stretch of time, and can be reset', async (t) => {
    await t.put('a', {});
    await t.put('b', {});
    const time = await notedTime(t);
    const before = await stretches(t);
    assert.equal(before[0]?.[0], '1970-01-01T00:00:00Z');
    assert.equal(before.at(-1)?.[0], time);
    assert.equal(
      before.reduce((sum, [, count]) => sum + count, 0),
      2,
    );
    await t.put('c', {});
    assertJson(await t.at('DELETE', '/_time_seq'), 200, { ok: true });
    const after = await stretches(t);
    assert.deepEqual(
      after.map(([, count]) => count),
      [3, 0],
    );
    assert.isAtLeast(Date.parse(after[1]?.[0] ?? ''), Date.parse(time));
  }),
]);
