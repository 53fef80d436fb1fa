import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { createCore } from '../../../../src/core/core.ts';
import { AutoPurges } from '../../../../src/core/deferred/auto-purges.ts';
import type { DeferredCode } from '../../../../src/core/deferred/contract.ts';
import { Deferred } from '../../../../src/core/deferred/deferred.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { ask } from '../../http/support.ts';

test('changes of the period while a purge runs are followed by one more, not by one each', async () => {
  const clock = systemClock;
  const core = await createCore({
    storage: createMemoryPageStore(),
    clock,
    random: systemRandom,
    config: {},
    deferred: deferredAtHand(),
  });
  await ask(core, 'PUT /db');
  await ask(core, 'PUT /db/_auto_purge', { body: '{"deleted_document_ttl":"1_week"}' });
  let begun = 0;
  let goOn: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const code = new Deferred<DeferredCode>(async () => {
    const all = await deferredAtHand()();
    const purge = async () => {
      begun += 1;
      await gate;
      return { purged: 0, isComplete: true };
    };
    return { ...all, purges: { ...all.purges, purge } };
  });
  const { registry } = core;
  const purges = new AutoPurges(code, { registry, config: createConfig({}), clock, log: silentLog });
  await purges.changed('db');
  while (begun === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  for (let n = 0; n < 20; n++) await purges.changed('db');
  goOn();
  await purges.changed('db');
  while (begun < 2) await new Promise((resolve) => setTimeout(resolve, 1));
  await purges.close();
  expect(begun).toBeLessThan(4);
  await core.close();
});
