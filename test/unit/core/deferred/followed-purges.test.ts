import { expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { AutoPurges } from '../../../../src/core/deferred/auto-purges.ts';
import { Deferred } from '../../../../src/core/deferred/deferred.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import type { Registry } from '../../../../src/database/registry/contract.ts';
import { ManualClock } from '../../database/store/harness.ts';

/** A registry whose list another server owns: what that one keeps is seen after a look. */
function followingRegistry(kept = new Map<string, string>()) {
  let notes = new Map<string, string>();
  const registry = {
    get notes() {
      return notes;
    },
    has: () => true,
    use: async (_name: string, use: (database: { readonly autoPurge: string }) => unknown) =>
      use({ autoPurge: '{"deleted_document_ttl":"1_week"}' }),
    keepNote: async (name: string, text: string, former?: { readonly text: string | undefined }) => {
      if (former !== undefined && former.text !== kept.get(name)) throw new DatabaseError('conflict', 'changed');
      kept.set(name, text);
    },
    refresh: async () => {
      notes = new Map(kept);
    },
  };
  return { registry: registry as unknown as Registry, kept };
}

test('databases whose periods are set one after another beside the owner of the list are all kept', async () => {
  const { registry, kept } = followingRegistry();
  const purges = new AutoPurges(new Deferred(deferredAtHand()), {
    ...{ registry, config: createConfig({}), clock: new ManualClock(), log: silentLog },
    placement: { owns: () => false },
  });
  await Promise.all([purges.changed('a'), purges.changed('b')]);
  await purges.close();
  expect([...kept]).toEqual([['auto_purge', '["a","b"]']]);
});

test('periods that are set at two servers at the same time are both kept', async () => {
  const kept = new Map<string, string>();
  const servers = [0, 1, 2].map(() => {
    const { registry } = followingRegistry(kept);
    const options = { registry, config: createConfig({}), clock: new ManualClock(), log: silentLog };
    return new AutoPurges(new Deferred(deferredAtHand()), { ...options, placement: { owns: () => false } });
  });
  await Promise.all(servers.map((server, number) => server.changed(`db${number}`)));
  for (const server of servers) await server.close();
  expect([...kept]).toEqual([['auto_purge', '["db0","db1","db2"]']]);
});
