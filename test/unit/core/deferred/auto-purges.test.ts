import { afterEach, expect, test } from 'vitest';
import { systemRandom } from '../../../../src/base/shared/clock.ts';
import type { Settings } from '../../../../src/base/system/contract.ts';
import { type Core, createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import { ask, askJson, pick } from '../../http/support.ts';

/** When automatic purges run, and in which databases (docs/http/databases.md#automatic-purge). */

const DAY_MS = 86_400_000;

/** 2026-01-31T12:00:00Z at first. */
const clock = { time: 1_769_860_800_000, now: () => clock.time, monotonic: () => performance.now() };
let core: Core | undefined;
let opened: string[] = [];

async function open(medium: MemoryMedium, config: Settings, loads: () => void = () => undefined): Promise<Core> {
  const storage = createMemoryPageStore({ medium });
  const deferred = deferredAtHand();
  core = await createCore({
    storage: new Proxy(storage, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        if (name !== 'open') return value.bind(target);
        return (file: string, mode: 'create' | 'open') => {
          if (mode === 'open') opened.push(file);
          return target.open(file, mode);
        };
      },
    }),
    clock,
    random: systemRandom,
    config,
    deferred: () => {
      loads();
      return deferred();
    },
  });
  return core;
}

async function tombstone(one: Core, database: string): Promise<void> {
  await ask(one, `PUT /${database}`);
  const [, made] = await askJson(one, `PUT /${database}/doc`, { body: '{}' });
  await ask(one, `DELETE /${database}/doc?rev=${String(pick(made, 'rev'))}`);
}

async function deletedIn(one: Core, database: string): Promise<unknown> {
  return pick((await askJson(one, `GET /${database}`))[1], 'doc_del_count');
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 5));
}

afterEach(async () => {
  await core?.close();
  core = undefined;
  opened = [];
});

test('runs go on after a restart, in databases with a period only, and open no others', async () => {
  const medium = new MemoryMedium();
  const first = await open(medium, {});
  for (const name of ['kept', 'purged']) await tombstone(first, name);
  const body = '{"deleted_document_ttl":"30_days"}';
  expect(await askJson(first, 'PUT /purged/_auto_purge', { body })).toEqual([201, { ok: true }]);
  await first.close();
  clock.time += 31 * DAY_MS;
  opened = [];
  const second = await open(medium, { auto_purge: { interval: '20' } });
  await until(async () => (await deletedIn(second, 'purged')) === 0);
  expect(opened.filter((file) => file.startsWith('kept'))).toEqual([]);
  expect(await deletedIn(second, 'kept')).toBe(1);
});

test('the setting counts for databases without a period of their own', async () => {
  const medium = new MemoryMedium();
  const first = await open(medium, {});
  for (const name of ['own', 'other']) await tombstone(first, name);
  await ask(first, 'PUT /own/_auto_purge', { body: '{"deleted_document_ttl":"infinity"}' });
  await first.close();
  clock.time += 31 * DAY_MS;
  const second = await open(medium, { auto_purge: { interval: '20', deleted_document_ttl: '30_days' } });
  await until(async () => (await deletedIn(second, 'other')) === 0);
  expect(await deletedIn(second, 'own')).toBe(1);
});

test('a service without periods loads no code for them', async () => {
  let loaded = 0;
  const one = await open(new MemoryMedium(), { auto_purge: { interval: '1' } }, () => {
    loaded += 1;
  });
  await tombstone(one, 'db');
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(loaded).toBe(0);
  expect(await deletedIn(one, 'db')).toBe(1);
});

test('a database that loses its period, or is deleted, is forgotten', async () => {
  const one = await open(new MemoryMedium(), {});
  for (const name of ['a', 'b']) await ask(one, `PUT /${name}`);
  const body = '{"deleted_document_ttl":"1_week"}';
  await Promise.all(['a', 'b'].map((name) => ask(one, `PUT /${name}/_auto_purge`, { body })));
  expect(one.registry.notes.get('auto_purge')).toBe('["a","b"]');
  await ask(one, 'PUT /a/_auto_purge', { body: '{}' });
  expect(one.registry.notes.get('auto_purge')).toBe('["b"]');
  await ask(one, 'DELETE /b');
  await ask(one, 'PUT /c');
  await ask(one, 'PUT /c/_auto_purge', { body: '{"deleted_document_ttl":"1_week"}' });
  expect(one.registry.notes.get('auto_purge')).toBe('["c"]');
});
