import { expect } from 'vitest';
import type { CacheBudget } from '../../../../src/base/shared/cache-budget.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import type { Registry } from '../../../../src/database/registry/contract.ts';
import { REGISTRY_FILE } from '../../../../src/database/registry/database-list.ts';
import { openRegistry } from '../../../../src/database/registry/registry.ts';
import type { DatabaseSettings } from '../../../../src/database/store/settings.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import type { PageStoreSupport } from '../../../../src/storage/page-store.ts';
import { type Gate, HookedStore, ManualClock, type StorageHooks, settle, toWrite } from '../store/harness.ts';

/** A registry on a medium of its own, whose storage operations can be watched, delayed and failed. */
export class Service {
  readonly medium: MemoryMedium;
  readonly hooks: StorageHooks = {};
  readonly clock = new ManualClock();
  readonly logged: string[] = [];
  #random = 0;

  constructor(medium = new MemoryMedium()) {
    this.medium = medium;
  }

  open(
    options: {
      maxOpen?: number;
      settings?: Partial<DatabaseSettings>;
      supports?: Partial<PageStoreSupport>;
      cache?: CacheBudget;
    } = {},
  ): Promise<Registry> {
    const add = (message: string) => this.logged.push(message);
    return openRegistry({
      store: new HookedStore(createMemoryPageStore({ medium: this.medium }), this.hooks, options.supports),
      clock: this.clock,
      random: (bytes) => {
        for (let index = 0; index < bytes.length; index++) bytes[index] = this.#random++;
        return bytes;
      },
      config: createConfig({ svc: { max_dbs_open: String(options.maxOpen ?? 100) } }),
      log: { error: add, info: add, debug: add },
      settings: options.settings ?? {},
      ...(options.cache ? { cache: options.cache } : {}),
    });
  }

  crashed(): Service {
    return new Service(this.medium.clone());
  }

  files(): string[] {
    return [...this.medium.files.keys()]
      .filter((file) => file !== REGISTRY_FILE)
      .map((file) => file.split('.')[0] ?? '');
  }
}

const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;

export async function write(registry: Registry, database: string, name: string): Promise<void> {
  await registry.use(database, (db) => db.write([toWrite(name)], NEW_EDITS));
}

export async function count(registry: Registry, database: string): Promise<number> {
  return registry.use(database, async (db) => (await db.info()).docCount);
}

/** Deletes the database `a` while it is being opened, which goes on when the gate is, and ends the service. */
export async function deleteWhileOpening(registry: Registry, gate: Gate): Promise<void> {
  const asked = expect(registry.acquire('a')).rejects.toMatchObject({ code: 'storage_deleted' });
  await settle();
  await registry.delete('a');
  await settle();
  gate.open();
  await asked;
  await registry.close();
}
