import { assert } from 'chai';
import { assertJson } from '../../support/conformance/answer.ts';
import { at, stringAt } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';

const hour = 3_600_000;

/** The machine's clock may be set back at any time (docs/http/databases.md#database-information). */
export default suite('clock', [
  test(
    "a clock set back doesn't change instance_start_time, and writes continue",
    async (t) => {
      assert(t.host.moveClock);
      const before = at(await t.info(), 'instance_start_time');
      const rev = await t.put('doc', { n: 1 });
      t.host.moveClock(-hour);
      assert.equal(at(await t.info(), 'instance_start_time'), before);
      const next = await t.put('doc', { _rev: rev, n: 2 });
      assertJson(await t.get('/doc'), 200, { _id: 'doc', _rev: next, n: 2 });
      t.host.moveClock(hour);
      assert.deepInclude(await t.info(), { update_seq: 2 });
    },
    { needs: ['clock'] },
  ),

  test(
    'generated ids stay unique when the clock moves',
    async (t) => {
      assert(t.host.moveClock);
      const ids: string[] = [];
      for (let round = 0; round < 20; round += 1) {
        ids.push(stringAt((await t.at('POST', '', { json: {} })).json, 'id'));
        t.host.moveClock(round % 2 === 0 ? -hour : hour);
      }
      assert.equal(new Set(ids).size, 20);
    },
    { needs: ['clock'] },
  ),
]);
