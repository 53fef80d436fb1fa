import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { joinSharedRegistry, openSharedRegistry } from '../../../../src/database/registry/shared-registry.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { write } from './service.ts';

/** Two processes that share databases: the first one owns their list, and the second one those that are named. */
async function openBoth(ofSecond: readonly string[]) {
  const medium = new MemoryMedium();
  const optionsOf = (isFirst: boolean) => ({
    ...{ clock: systemClock, random: systemRandom, config: createConfig({}), log: silentLog },
    store: createMemoryPageStore({ medium }),
    placement: { owns: (name: string) => ofSecond.includes(name) !== isFirst, whenFree: async () => undefined },
    alwaysFresh: () => ['accounts'],
    onSecurity: () => undefined,
  });
  const first = await openSharedRegistry(optionsOf(true));
  const second = await joinSharedRegistry({
    ...optionsOf(false),
    onNotes: () => undefined,
    keepNote: (...given) => first.keepNote(...given),
  });
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

test('a text is kept only in place of the one that was meant', async () => {
  const { first, second } = await openBoth([]);
  await first.keepNote('note', 'one', { text: undefined });
  await expect(second.keepNote('note', 'two', { text: undefined })).rejects.toMatchObject({ code: 'conflict' });
  await second.refresh?.();
  expect(second.notes.get('note')).toBe('one');
  await second.keepNote('note', 'two', { text: 'one' });
  expect(first.notes.get('note')).toBe('two');
  await second.close();
  await first.close();
});
