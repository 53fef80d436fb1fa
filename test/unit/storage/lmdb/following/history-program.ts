/**
 * An owner of a file, as a process that is killed: it commits a random history and sends the number of each record that was acknowledged.
 * Arguments: the folder of the store, and a seed. Each record names the one before it by its text, so a reader can tell whether it has them all.
 */

import { createLmdbPageStore } from '../../../../../src/storage/lmdb/lmdb-page-store.ts';
import { PAGES_PER_EPOCH, type PageFile, type PageNumber } from '../../../../../src/storage/page-store.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { type Entry, pageText } from './history.ts';

const LONG = 70_000;

class Owner {
  readonly #file: PageFile;
  readonly #random: SeededRandom;
  #number: number;
  #page: PageNumber;
  #chain: string;
  /** Pages to which the head and the records after it lead. */
  #pages: PageNumber[];
  #recordBytes = 0;

  constructor(file: PageFile, random: SeededRandom) {
    this.#file = file;
    this.#random = random;
    const { epoch, head, journal, nextJournal } = file.opening;
    const entries: Entry[] = [head ?? '{"chain":"","pages":[]}', ...journal.map(({ text }) => text)].map((text) =>
      JSON.parse(text),
    );
    this.#number = nextJournal;
    this.#page = epoch * PAGES_PER_EPOCH;
    this.#chain = entries.at(-1)?.chain ?? '';
    this.#pages = entries.flatMap(({ pages }) => pages);
  }

  async step(): Promise<void> {
    const random = this.#random;
    if (this.#recordBytes > 300_000 || random.chance(3)) await this.#checkpoint();
    else if (random.chance(1)) await this.#file.compact?.();
    else if (random.chance(25)) await this.#recordWithPage();
    else await this.#record([], random.chance(5) ? LONG : random.between(0, 300));
  }

  async #record(pages: readonly PageNumber[], padding: number, writes = false): Promise<void> {
    const number = this.#number;
    const chain = `${number}-${this.#random.hexDigits(6)}`;
    const entry: Entry = { before: this.#chain, chain, pages, padding: 'p'.repeat(padding) };
    const record = { number, text: JSON.stringify(entry) };
    if (writes) {
      const writePages = pages.map((page) => ({ number: page, value: pageText(page) }));
      await this.#file.commit({ durability: 'relaxed', journal: record, writePages });
    } else if ((await this.#file.append?.(record)) !== true) {
      await this.#file.commit({ durability: this.#random.chance(10) ? 'strict' : 'relaxed', journal: record });
    }
    this.#number += 1;
    this.#chain = chain;
    this.#recordBytes += padding;
    process.send?.(number);
  }

  /** A page that comes with the record, or before it. */
  async #recordWithPage(): Promise<void> {
    const page = ++this.#page;
    this.#pages.push(page);
    if (this.#random.chance(50)) return this.#record([page], 10, true);
    await this.#file.commit({ durability: 'relaxed', writePages: [{ number: page, value: pageText(page) }] });
    await this.#record([page], 10);
  }

  async #checkpoint(): Promise<void> {
    const former = this.#pages;
    const pages = Array.from({ length: this.#random.between(1, 4) }, () => ++this.#page);
    const entry: Entry = { chain: this.#chain, pages };
    await this.#file.commit({
      durability: 'relaxed',
      writePages: pages.map((page) => ({ number: page, value: pageText(page) })),
      head: JSON.stringify(entry),
      truncateJournal: this.#number,
    });
    this.#pages = pages;
    this.#recordBytes = 0;
    await this.#file.commit({ durability: 'relaxed', dropPages: former });
  }
}

const [folder = '', seed = ''] = process.argv.slice(2);
const store = createLmdbPageStore(folder);
const file = await store.open('file', (await store.list()).includes('file') ? 'open' : 'create');
const owner = new Owner(file, new SeededRandom(Number(seed)));
for (;;) {
  await owner.step();
  // So that its messages are sent.
  await new Promise((resolve) => setImmediate(resolve));
}
