/** Makes a conflict as people make one: each side changes the same item, while the two are apart. Another item and other words each time. */
import { type Item, newId, type PackingList } from './packing-list.ts';

/** What the two sides make of an item. */
const PAIRS: readonly (readonly [here: string, there: string])[] = [
  ['Raincoats, the long ones', 'Umbrellas'],
  ['Tea, and the kettle', 'Cocoa'],
  ['The big tent', 'Hammocks'],
  ['Playing cards', 'A chess set'],
  ['Paper maps', 'The compass'],
  ['Wool hats', 'Sun hats'],
  ['A torch', 'Candles and matches'],
  ['Binoculars', 'The old camera'],
];

/** Used if there is nothing to disagree about. */
const FIRST = 'Rain jackets';

export class ConflictMaker {
  readonly #sides: readonly PackingList[];
  #round = 0;
  #item: Item | undefined;
  #texts: readonly string[] = [];

  constructor(here: PackingList, there: PackingList) {
    this.#sides = [here, there];
  }

  /** Chooses an item that both sides have, and new words for each. Adds one if there is none. */
  async choose(): Promise<void> {
    if ((await this.#read()).common.length === 0) await this.#addToBoth();
    const { here, there, common } = await this.#read();
    const taken = new Set([...here, ...there].flatMap(({ versions }) => versions.map(({ text }) => text)));
    // The third of the first four items is about rain, as the first words are.
    this.#item = common[(this.#round + 2) % common.length];
    this.#texts = newTexts(taken, this.#round);
    this.#round++;
  }

  /** Writes what one side makes of the chosen item: 0 for this browser, 1 for the server. */
  async change(side: 0 | 1): Promise<void> {
    const item = this.#item;
    const list = this.#sides[side];
    if (item && list) await list.save(item, this.#texts[side] ?? '', item.isPacked);
  }

  /** Under the same id and with the same content it has the same revision: both sides agree at once. */
  async #addToBoth(): Promise<void> {
    const id = newId();
    for (const list of this.#sides) await list.add(FIRST, id);
  }

  async #read(): Promise<{
    readonly here: readonly Item[];
    readonly there: readonly Item[];
    readonly common: readonly Item[];
  }> {
    const [here = [], there = []] = await Promise.all(this.#sides.map((list) => list.items()));
    const isThere = (item: Item) => there.some(({ id, rev }) => id === item.id && rev === item.rev);
    return { here, there, common: here.filter((item) => isSettled(item) && isThere(item)) };
  }
}

function isSettled({ versions }: Item): boolean {
  return versions.length === 1;
}

/** Two texts that nothing in the lists has yet. After all pairs were used, they are numbered. */
export function newTexts(taken: ReadonlySet<string>, round: number): readonly [string, string] {
  for (let number = 1; ; number++) {
    for (let step = 0; step < PAIRS.length; step++) {
      const pair = PAIRS[(round + step) % PAIRS.length];
      if (!pair) continue;
      const [here, there] = pair.map((text) => (number === 1 ? text : `${text} (${number})`));
      if (here !== undefined && there !== undefined && !taken.has(here) && !taken.has(there)) return [here, there];
    }
  }
}
