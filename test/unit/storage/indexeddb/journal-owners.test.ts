import '../backends.ts';
import { IDBFactory } from 'fake-indexeddb';
import { expect, test } from 'vitest';
import { isDatabaseError } from '../../../../src/base/errors/database-error.ts';
import { must } from '../../../../src/base/shared/assert.ts';
import { createIndexedDbPageStore } from '../../../../src/storage/indexeddb/indexeddb-page-store.ts';
import { createOpfsJournalFiles } from '../../../../src/storage/indexeddb/opfs-journal-files.ts';
import { type Commit, PAGES_PER_EPOCH, type PageFile } from '../../../../src/storage/page-store.ts';
import { FakeFileSystem } from '../fake-file-system.ts';

/**
 * Owners one after another, with the former ones awake: they go on writing while the next one opens, and afterwards; the file system
 * takes its time. Each opening must find exactly what was acknowledged.
 */
const SEEDS = 120;
const STEPS = 40;

interface Owner {
  readonly file: PageFile;
  next: number;
  isDead: boolean;
}

/** Numerical Recipes' generator. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const turns = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

class Succession {
  readonly #pick: (below: number) => number;
  readonly #factory = new IDBFactory();
  readonly #files = new FakeFileSystem();
  readonly #acknowledged = new Map<number, string>();
  readonly #owners: Owner[] = [];
  #floor = 0;
  #written = 0;

  constructor(seed: number) {
    this.#pick = createRandom(seed);
  }

  async run(): Promise<void> {
    await this.#open('create');
    for (let step = 0; step < STEPS; step += 1) await this.#step(must(this.#owners.at(-1)), this.#pick(20));
    await this.#open('open');
    for (const { file } of this.#owners) await file.close();
  }

  async #step(owner: Owner, kind: number): Promise<void> {
    if (kind < 9) for (let count = this.#pick(5); count >= 0; count -= 1) await this.#append(owner, {});
    else if (kind === 9) await this.#append(owner, { durability: 'strict' });
    else if (kind === 10) await this.#append(owner, { writePages: [this.#page(owner)] });
    else if (kind < 13) await this.#truncate(owner);
    else if (kind === 13) await owner.file.commit({ durability: 'strict' });
    else if (kind < 16) await turns(this.#pick(4));
    else if (kind === 16) await owner.file.close().then(() => this.#open('open'));
    else if (kind < 19) await this.#open('open', () => this.#goOn(owner));
    else await this.#wakeFormer();
  }

  #page({ file }: Owner) {
    return { number: file.opening.epoch * PAGES_PER_EPOCH + this.#written, value: 'page' };
  }

  async #append(owner: Owner, parts: Partial<Commit>): Promise<void> {
    const text = `${this.#written++} ${'x'.repeat(this.#pick(20))}`;
    try {
      await owner.file.commit({ durability: 'relaxed', journal: { number: owner.next, text }, ...parts });
    } catch (error) {
      if (!isDatabaseError(error, 'storage_fenced') && !isDatabaseError(error, 'storage_closed')) throw error;
      owner.isDead = true;
      return;
    }
    expect(this.#acknowledged.has(owner.next), `record ${owner.next} was acknowledged before`).toBe(false);
    this.#acknowledged.set(owner.next, text);
    owner.next += 1;
  }

  async #truncate(owner: Owner): Promise<void> {
    const below = owner.next - this.#pick(3);
    if (below <= this.#floor) return;
    await owner.file.commit({ durability: 'relaxed', head: 'head', truncateJournal: below });
    this.#floor = below;
    await turns(this.#pick(2) * 3);
  }

  /** The owner doesn't know yet that another one is on its way. */
  async #goOn(owner: Owner): Promise<void> {
    for (let count = this.#pick(6); count >= 0 && !owner.isDead; count -= 1) {
      await this.#append(owner, {});
      if (this.#pick(2) === 0) await turns(0);
    }
  }

  async #wakeFormer(): Promise<void> {
    const before = new Map(this.#acknowledged);
    for (const owner of this.#owners.slice(0, -1)) {
      const choice = this.#pick(3);
      if (choice === 0) await owner.file.close();
      else if (choice === 1) await this.#append(owner, { durability: this.#pick(2) === 0 ? 'relaxed' : 'strict' });
      else {
        const stale = owner.file.commit({ durability: 'relaxed', head: 'stale', truncateJournal: owner.next });
        await expect(stale).rejects.toThrow();
      }
    }
    expect([...this.#acknowledged], 'nobody but the last owner gets through').toEqual([...before]);
  }

  async #open(mode: 'create' | 'open', meanwhile?: () => Promise<void>): Promise<void> {
    const getDirectory = async () => {
      for (let count = this.#pick(4); count > 0; count -= 1) await turns(0);
      return this.#files.getDirectory();
    };
    const files = createOpfsJournalFiles(getDirectory, 1 + this.#pick(2));
    const store = createIndexedDbPageStore({
      prefix: 'settee:',
      indexedDB: this.#factory,
      journalFiles: async () => files,
    });
    const opening = store.open('file', mode);
    await meanwhile?.();
    const file = await opening;
    const wanted = [...this.#acknowledged].filter(([number]) => number >= this.#floor);
    const found = file.opening.journal.filter(({ number }) => number >= this.#floor);
    expect(found.map(({ number, text }) => [number, text])).toEqual(wanted.sort(([left], [right]) => left - right));
    this.#owners.push({ file, next: file.opening.nextJournal, isDead: false });
  }
}

test('every opening finds acknowledged writes, whatever other owners are awake', { timeout: 300_000 }, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    await new Succession(seed).run().catch((cause: unknown) => {
      throw new Error(`seed ${seed}: ${cause}`, { cause });
    });
  }
});
