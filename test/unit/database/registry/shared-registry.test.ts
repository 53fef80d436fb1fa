import { describe, expect, test } from 'vitest';
import { Access } from '../../../../src/accounts/access/access.ts';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { memberCode } from '../../../../src/core/member.ts';
import { DatabaseFeeds } from '../../../../src/database/changes/feeds.ts';
import type { Registry } from '../../../../src/database/registry/contract.ts';
import { openSharedRegistry } from '../../../../src/database/registry/shared-registry.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { write } from './service.ts';

function unused(): never {
  throw new Error('this test should need no accounts');
}

/** Two processes that share databases: the first one owns their list, and the second one those that are named, and reports what it changes. */
async function openBoth(ofSecond: readonly string[], onUpdate?: (name: string) => void) {
  const medium = new MemoryMedium();
  const optionsOf = (isFirst: boolean) => ({
    ...{ clock: systemClock, random: systemRandom, config: createConfig({}), log: silentLog },
    store: createMemoryPageStore({ medium }),
    placement: { owns: (name: string) => ofSecond.includes(name) !== isFirst, whenFree: async () => undefined },
    alwaysFresh: () => ['accounts'],
    onSecurity: () => undefined,
  });
  const first = await openSharedRegistry(optionsOf(true));
  const options = optionsOf(false);
  const keepNote: Registry['keepNote'] = (name, text) => first.keepNote(name, text);
  const membership = { placement: options.placement, follows: { keepNote, onUpdate } };
  const access = new Access(options.config, { peek: () => undefined, use: unused, onEvent: () => () => {} });
  const second = await memberCode.openDatabases(membership, options, () => access);
  return { first, second };
}

test('the owner of the list sees at each look what others have written where its rights depend on it', async () => {
  const { first, second } = await openBoth(['accounts', 'other']);
  await first.create('accounts');
  await first.create('other');
  await second.refresh?.();
  await first.refresh?.();
  const seen: string[] = [];
  first.onEvent(({ type, name }) => seen.push(`${type} ${name}`));
  await write(second, 'accounts', 'ana');
  await write(second, 'other', 'a');
  expect(seen).toEqual([]);
  await first.refresh?.();
  expect(seen).toEqual(['updated accounts']);
  await second.close();
  await first.close();
});

describe('when owners have changed', () => {
  test('feeds that wait look at their databases, and feeds of database events are told nothing', async () => {
    const { first, second } = await openBoth(['other']);
    for (const name of ['mine', 'other']) await first.create(name);
    const feeds = new DatabaseFeeds(first);
    const watches = ['mine', 'other'].map((name) => feeds.watch(name));
    const events = feeds.openDatabases();
    await first.rearrange?.(async () => undefined);
    for (const watch of watches) expect(await watch.next(60_000)).toBe('changed');
    await first.create('new');
    expect(await events.next(60_000)).toEqual({ type: 'created', name: 'new' });
    events.close();
    for (const watch of watches) watch.end();
    await second.close();
    await first.close();
  });

  test('another process reports only what it changes', async () => {
    const reported: string[] = [];
    const { first, second } = await openBoth(['other'], (name) => reported.push(name));
    await first.create('other');
    await second.refresh?.();
    const stop = second.watch?.('other');
    await second.rearrange?.(async () => undefined);
    expect(reported).toEqual([]);
    await write(second, 'other', 'a');
    expect(reported).toEqual(['other']);
    stop?.();
    await second.close();
    await first.close();
  });
});
