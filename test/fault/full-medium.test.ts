import { describe, expect, test, vi } from 'vitest';
import { isDatabaseError } from '../../src/base/errors/database-error.ts';
import { must } from '../../src/base/shared/assert.ts';
import { systemClock, systemRandom } from '../../src/base/shared/clock.ts';
import { createConfig } from '../../src/core/config/config-store.ts';
import type { RevId } from '../../src/database/documents/contract.ts';
import type { Registry } from '../../src/database/registry/contract.ts';
import { openRegistry } from '../../src/database/registry/registry.ts';
import type { Database, DocumentWrite } from '../../src/database/store/contract.ts';
import { createMemoryPageStore, MemoryMedium } from '../../src/storage/memory-page-store.ts';
import { patient } from '../support/patience.ts';
import { Quota } from '../support/quota-store.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { id, seeAll } from '../unit/database/store/harness.ts';

/**
 * A medium that is full from any step of a workload on: all that was acknowledged stays readable, also after a restart; documents and databases
 * can be deleted, and are gone for good; and with what that frees writing goes on.
 */
const NEW_EDITS = { newEdits: true, durability: 'relaxed' } as const;
/** Small bounds, so that a short workload has checkpoints. */
const SETTINGS = { journalBytes: 40_000, journalRecords: 30, dirtyBytes: 200_000, packFrom: 8_000, idleMs: 20 };
const STEPS = 24;

class Scenario {
  readonly random: SeededRandom;
  readonly quota = new Quota();
  readonly #medium = new MemoryMedium();
  #written = 0;
  /** Acknowledged documents of each database: their revisions and texts. */
  readonly stored = new Map<string, Map<string, { readonly rev: RevId; readonly text: string }>>();
  readonly logged: string[] = [];
  registry: Registry | undefined;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
  }

  async start(): Promise<Registry> {
    const note = (message: string): number => this.logged.push(message);
    this.registry = await openRegistry({
      store: this.quota.store(createMemoryPageStore({ medium: this.#medium })),
      clock: systemClock,
      random: systemRandom,
      config: createConfig({}),
      log: { error: note, info: () => undefined, debug: () => undefined },
      settings: SETTINGS,
    });
    return this.registry;
  }

  /** In order, or as if the process had died. */
  async restart(): Promise<void> {
    if (this.random.chance(50)) await this.registry?.close();
    await this.start();
  }

  use<T>(name: string, use: (database: Database) => Promise<T>): Promise<T> {
    return Promise.resolve(must(this.registry).use(name, use));
  }

  async create(name: string): Promise<void> {
    await must(this.registry).create(name);
    this.stored.set(name, new Map());
  }

  async write(name: string, docs: number, length: number): Promise<void> {
    const documents = must(this.stored.get(name));
    const texts = Array.from({ length: docs }, () => this.random.hexDigits(length));
    const writes = texts.map((text) => writeOf(`doc-${this.#written++}`, text));
    const outcomes = await this.use(name, (database) => database.write(writes, NEW_EDITS));
    for (const [index, outcome] of outcomes.entries()) {
      if (!outcome.ok) throw outcome.error;
      documents.set(outcome.id, { rev: outcome.rev, text: must(texts[index]) });
    }
  }

  async delete(name: string, docId: string): Promise<void> {
    const documents = must(this.stored.get(name));
    const { rev } = must(documents.get(docId));
    const write: DocumentWrite = { id: id(docId), rev, deleted: true, body: '{}' };
    const [outcome] = await this.use(name, (database) => database.write([write], NEW_EDITS));
    expect(outcome?.ok).toBe(true);
    documents.delete(docId);
  }

  async step(): Promise<void> {
    const name = must(this.random.oneOf([...this.stored.keys()]));
    const chance = this.random.fraction();
    if (chance < 0.5) await this.write(name, this.random.between(1, 4), this.random.between(10, 3_000));
    else if (chance < 0.7) await this.write(name, this.random.between(10, 40), this.random.between(100, 2_000));
    else if (chance < 0.8) await this.use(name, (database) => database.compact());
    else if (chance < 0.9) await this.use(name, async (database) => void (await database.flush()));
    else await this.restart();
  }

  /** All that was acknowledged is there, and nothing else. */
  async mustHoldAll(): Promise<void> {
    expect(must(this.registry).names()).toEqual([...this.stored.keys()].sort());
    for (const [name, documents] of this.stored) {
      const found = await this.use(name, allDocuments);
      expect(found, name).toEqual(texts(documents));
    }
  }
}

function texts(documents: ReadonlyMap<string, { readonly text: string }>): Map<string, string> {
  return new Map([...documents].map(([docId, { text }]) => [docId, text] as const));
}

/** The texts of all live documents, by id. */
async function allDocuments(database: Database): Promise<Map<string, string>> {
  const { documents } = await seeAll(database);
  const live = Object.entries(documents).filter(
    ([
      ,
      {
        leaves: [winner = ''],
      },
    ]) => !/^[^=]*!=/.test(winner),
  );
  return new Map(
    live.map(
      ([
        docId,
        {
          leaves: [winner = ''],
        },
      ]) => [docId, textOf(winner)],
    ),
  );
}

function textOf(leaf: string): string {
  const body: unknown = JSON.parse(leaf.slice(leaf.indexOf('=') + 1));
  return String(Object(body).text);
}

function isFull(error: unknown): boolean {
  return isDatabaseError(error, 'storage_full');
}

/** Runs what may find no room; a refusal changes nothing. */
async function orRefused(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isFull(error)) throw error;
  });
}

async function prepared(seed: number): Promise<Scenario> {
  const scenario = new Scenario(seed);
  await scenario.start();
  for (const name of ['a', 'b', 'c']) await scenario.create(name);
  for (const name of ['a', 'b', 'c']) await scenario.write(name, 30, 1_000);
  await scenario.use('a', (database) => database.compact());
  await vi.waitFor(() => expect(scenario.quota.reserved).toEqual({ deletions: 2 ** 20, upkeep: 2 ** 20 }), patient);
  return scenario;
}

describe('a medium that is full', () => {
  test.each(Array.from({ length: STEPS }, (_, step) => step))(
    'keeps all acknowledged data when it is full from step %i on',
    async (full) => {
      const scenario = await prepared(1_000 + full);
      for (let step = 0; step < full; step += 1) await scenario.step();
      scenario.quota.fill();
      for (let step = 0; step < 4; step += 1) await orRefused(scenario.step());
      await scenario.restart();
      await scenario.mustHoldAll();
      // Deletions of every second document, one by one, with a start in between.
      for (const [name, documents] of scenario.stored) {
        for (const [index, docId] of [...documents.keys()].entries())
          if (index % 2 === 0) await scenario.delete(name, docId);
      }
      await scenario.restart();
      await scenario.mustHoldAll();
      await must(scenario.registry).delete('c');
      scenario.stored.delete('c');
      for (const name of ['a', 'b']) await scenario.use(name, (database) => database.compact());
      await scenario.restart();
      await scenario.mustHoldAll();
      await vi.waitFor(() => scenario.write('a', 5, 1_000), patient);
      await must(scenario.registry).create('d');
      scenario.stored.set('d', new Map());
      await scenario.mustHoldAll();
      for (const name of ['a', 'b']) {
        expect((await scenario.use(name, (database) => database.verify())).damage).toEqual([]);
      }
      await must(scenario.registry).close();
      expect(scenario.quota.refusals).toBeGreaterThan(0);
    },
  );

  test('refuses what may not use the reserve, also after a restart', async () => {
    const scenario = await prepared(1);
    scenario.quota.fill();
    await scenario.delete('a', 'doc-0');
    expect(scenario.quota.reserved.deletions).toBe(0);
    await expect(scenario.write('a', 1, 10)).rejects.toMatchObject({ code: 'storage_full' });
    await scenario.start();
    await expect(scenario.write('a', 1, 10)).rejects.toMatchObject({ code: 'storage_full' });
    await expect(must(scenario.registry).create('d')).rejects.toMatchObject({ code: 'storage_full' });
    scenario.quota.capacity += 4 * 2 ** 20;
    await vi.waitFor(() => scenario.write('a', 1, 10), patient);
    expect(scenario.quota.reserved).toEqual({ deletions: 2 ** 20, upkeep: 2 ** 20 });
    await scenario.mustHoldAll();
  });

  test('accepts a deletion that arrives together with a refused write', async () => {
    const scenario = await prepared(2);
    scenario.quota.fill();
    const outcomes = await Promise.allSettled([
      scenario.write('a', 1, 100),
      scenario.delete('a', 'doc-1'),
      scenario.write('a', 1, 100),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected']);
    await scenario.start();
    await scenario.mustHoldAll();
  });
});

function writeOf(docId: string, text: string): DocumentWrite {
  return { id: id(docId), rev: undefined, deleted: false, body: JSON.stringify({ text }) };
}
