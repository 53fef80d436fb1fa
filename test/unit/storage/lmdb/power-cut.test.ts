import { readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type JournalFunctions, systemFunctions } from '../../../../src/storage/lmdb/journal-file.ts';
import { createLmdbPageStore } from '../../../../src/storage/lmdb/lmdb-page-store.ts';
import type { Commit, PageFile } from '../../../../src/storage/page-store.ts';
import { temporaryFolder } from '../backends.ts';

/**
 * Random commits, then a power cut: of every segment file a part of what was not made durable is lost, or all of it
 * where its name was not. What LMDB committed stays, since its commits are durable. The next owner must find
 *
 *     removed | kept … | durable: strict, or before a later head, record with pages or truncation | a prefix of the rest
 */
interface Step {
  readonly kind: 'append' | 'append with page' | 'append long' | 'pages' | 'head' | 'truncate' | 'flush';
  readonly durability: 'relaxed' | 'strict';
  /** Records that a truncation leaves. */
  readonly left: number;
}

interface Round {
  readonly steps: readonly Step[];
  /** Thousandths of the bytes in danger that survive, and whether a name in danger does. */
  readonly surviving: number;
  readonly namesSurvive: boolean;
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom(
    'append',
    'append',
    'append',
    'append with page',
    'append long',
    'pages',
    'head',
    'truncate',
    'flush',
  ),
  durability: fc.constantFrom('relaxed', 'relaxed', 'relaxed', 'strict'),
  left: fc.nat(3),
});

const round: fc.Arbitrary<Round> = fc.record({
  steps: fc.array(step, { maxLength: 14 }),
  surviving: fc.integer({ min: 0, max: 1000 }),
  namesSurvive: fc.boolean(),
});

/** What of the segments is durable. */
class Disk {
  readonly #paths = new Map<number, string>();
  readonly #synced = new Map<string, number>();
  readonly #unnamed = new Set<string>();

  readonly functions: JournalFunctions = {
    ...systemFunctions,
    create: (path) => {
      const descriptor = systemFunctions.create(path);
      this.#paths.set(descriptor, path);
      this.#synced.set(basename(path), 0);
      this.#unnamed.add(basename(path));
      return descriptor;
    },
    sync: async (descriptor) => {
      const path = this.#paths.get(descriptor) ?? '';
      this.#synced.set(basename(path), statSync(path).size);
    },
    syncFolder: async () => this.#unnamed.clear(),
  };

  /** Segments of former owners were made durable at the opening. */
  cutPower(folder: string, { surviving, namesSurvive }: Round): void {
    for (const name of readdirSync(folder).filter((each) => each.endsWith('.log'))) {
      const path = join(folder, name);
      const { size } = statSync(path);
      const synced = this.#synced.get(name) ?? size;
      if (this.#unnamed.has(name) && !namesSurvive) rmSync(path);
      else truncateSync(path, synced + Math.floor(((size - synced) * surviving) / 1000));
    }
  }
}

/** What the file must hold, beside what a power cut may take. */
class Model {
  head: string | undefined;
  records: (readonly [number: number, text: string])[] = [];
  /** How many of the records are durable. */
  durable = 0;
  page = 0;

  commitFor({ kind, durability, left }: Step, number: number): Commit {
    const text = kind === 'append long' ? 'x'.repeat(66_000) : `record ${number}`;
    const writePages = [{ number: this.page++ * 2, value: 'page' }];
    if (kind === 'append' || kind === 'append long') return { durability, journal: { number, text } };
    if (kind === 'append with page') return { durability, journal: { number, text }, writePages };
    if (kind === 'pages') return { durability, writePages };
    if (kind === 'head') return { durability, head: `head ${number} ${this.page}` };
    if (kind === 'flush') return { durability };
    const kept = this.records.at(-left)?.[0] ?? number;
    return { durability, head: `truncated ${this.page}`, truncateJournal: left === 0 ? number : kept };
  }

  done({ kind, durability }: Step, { journal, head, truncateJournal = 0 }: Commit): void {
    if (journal !== undefined) this.records.push([journal.number, journal.text]);
    this.head = head ?? this.head;
    if (kind !== 'append' && kind !== 'pages' && kind !== 'flush') this.durable = this.records.length;
    if (durability === 'strict') this.durable = this.records.length;
    const kept = this.records.filter(([number]) => number >= truncateJournal);
    this.durable -= this.records.length - kept.length;
    this.records = kept;
  }

  /** Compares with what the next owner found, and goes on from there. */
  checkOpening({ opening }: PageFile): void {
    const found = opening.journal.map(({ number, text }) => [number, text] as const);
    expect(found.length).toBeGreaterThanOrEqual(this.durable);
    expect(found).toEqual(this.records.slice(0, found.length));
    expect(opening.head).toBe(this.head);
    this.records = found;
    this.durable = found.length;
  }
}

async function runRounds(folder: string, rounds: readonly Round[]): Promise<void> {
  const model = new Model();
  let path = join(folder, 'round-0');
  for (const [index, each] of rounds.entries()) {
    const disk = new Disk();
    const store = createLmdbPageStore(path, { functions: disk.functions });
    const file = await store.open('file', index === 0 ? 'create' : 'open');
    model.checkOpening(file);
    let number = file.opening.nextJournal;
    for (const next of each.steps) {
      const commit = model.commitFor(next, number);
      await file.commit(commit);
      model.done(next, commit);
      if (commit.journal !== undefined) number += 1;
    }
    path = join(folder, `round-${index + 1}`);
    await cp(join(folder, `round-${index}`), path, { recursive: true });
    disk.cutPower(join(path, 'file'), each);
    await store.close();
  }
  const store = createLmdbPageStore(path);
  model.checkOpening(await store.open('file', 'open'));
  await store.close();
}

test('after power cuts the journal is a prefix that has everything durable', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async (rounds) => {
      const folder = await temporaryFolder();
      try {
        await runRounds(folder, rounds);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 25 },
  );
});
