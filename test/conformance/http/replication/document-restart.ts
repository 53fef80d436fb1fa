import { assert } from 'chai';
import { at, stringAt } from '../../../support/conformance/json.ts';
import { suite, test } from '../../../support/conformance/suite.ts';
import { arrives, ask, newTarget, readAsked, untilState, useReplicator } from './steps.ts';

const needs = ['restart'] as const;

export default suite('replication_document_restart', [
  test(
    'a continuous replication continues after a restart without writing to its document',
    async (t) => {
      await useReplicator(t);
      const target = await newTarget(t);
      await t.put('one', {});
      await ask(t, 'live', { target, continuous: true });
      await arrives(t, target, 'one');
      const before = await untilState(t, 'live', 'triggered');
      await t.restart();
      await t.put('two', {});
      await arrives(t, target, 'two');
      assert.deepEqual(await readAsked(t, 'live'), before);
    },
    { needs },
  ),

  test(
    'after a restart a completed replication is not repeated, and a failed one is',
    async (t) => {
      await useReplicator(t);
      const target = await newTarget(t);
      const late = `${t.db}_late`;
      t.forgetLater(late);
      await ask(t, 'done', { target });
      const done = await untilState(t, 'done', 'completed');
      await ask(t, 'waits', { target: late });
      await untilState(t, 'waits', 'error');
      await t.put('doc', {});
      await t.createDatabase(late);
      await t.restart();
      const waited = await untilState(t, 'waits', 'completed');
      assert.equal(at(waited, '_replication_stats', 'docs_written'), 1);
      assert.equal(stringAt(await readAsked(t, 'done'), '_rev'), stringAt(done, '_rev'));
      assert.equal((await t.request('GET', `/${target}/doc`)).status, 404);
    },
    { needs },
  ),
]);
