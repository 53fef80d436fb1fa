import { expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/shared/clock.ts';
import { createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { Gate, HookedStore, settle } from '../../database/store/harness.ts';
import { ask, askJson, clock, pick } from '../support.ts';

/** A service with a database and an index, whose commits can be held. */
async function openScene() {
  const gate = new Gate();
  const held = { isHolding: false, gate };
  const hooks = { beforeCommit: () => (held.isHolding ? gate.opened : undefined) };
  const logged: string[] = [];
  const ignore = () => undefined;
  const core = await createCore({
    storage: new HookedStore(createMemoryPageStore(), hooks),
    clock,
    random: systemRandom,
    deferred: deferredAtHand(),
    log: { error: (message) => logged.push(message), info: ignore, debug: ignore },
  });
  await ask(core, 'PUT /db');
  await ask(core, 'PUT /db/a', { body: '{"n":1}' });
  await ask(core, 'POST /db/_index', { body: '{"index":{"fields":["n"]},"ddoc":"d","name":"n"}' });
  const found = await askJson(core, 'POST /db/_find', { body: '{"selector":{"n":1}}' });
  expect(pick(found[1], 'docs', 0, '_id')).toBe('a');
  return { core, held, logged };
}

/** A developer is called by what is logged as an error, and nothing went wrong here. */
test.for(['/db/_compact', '/db/_compact/d'])('%s ended by the end of the service is not an error', async (path) => {
  const { core, held, logged } = await openScene();
  held.isHolding = true;
  expect((await ask(core, `POST ${path}`)).status).toBe(202);
  await settle();
  const closed = core.close();
  await settle();
  held.gate.open();
  await closed;
  await settle();
  expect(logged).toEqual([]);
});

test.for(['/db/_compact', '/db/_compact/d'])(
  '%s of a database that is deleted meanwhile is not an error',
  async (path) => {
    const { core, held, logged } = await openScene();
    held.isHolding = true;
    expect((await ask(core, `POST ${path}`)).status).toBe(202);
    await settle();
    const deleted = ask(core, 'DELETE /db');
    await settle();
    held.gate.open();
    expect((await deleted).status).toBe(200);
    await settle();
    expect(logged).toEqual([]);
    await core.close();
  },
);
