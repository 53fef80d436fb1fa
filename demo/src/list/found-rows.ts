/** The documents that a search for names found, a page of them at a time, kept up to date from reported changes. */
import type { Row } from '../data/database.ts';
import { isNamed } from '../data/names.ts';
import type { Change } from '../following/changes.ts';
import { PAGE } from './list-window.ts';

export class FoundRows {
  /** All of them are known. */
  readonly isShort = false;
  /** In the order of their ids; those come first that begin with what was searched. */
  #rows: readonly Row[];
  readonly #words: readonly string[];
  readonly #start: string;
  #first = 0;

  /** `words`: that all of them have. `start`: how the ids of the best ones begin. */
  constructor(rows: readonly Row[], words: readonly string[], start: string) {
    this.#words = words;
    this.#start = start;
    this.#rows = this.#sorted(rows);
  }

  get page(): readonly Row[] {
    return this.#rows.slice(this.#first, this.#first + PAGE);
  }

  get total(): number {
    return this.#rows.length;
  }

  /** How many come before the page. */
  get before(): number {
    return this.#first;
  }

  /** The next page, or the one before. */
  turn(backwards: boolean): void {
    const first = this.#first + (backwards ? -PAGE : PAGE);
    if (first >= 0 && first < this.#rows.length) this.#first = first;
  }

  follow({ id, document }: Change): void {
    const others = this.#rows.filter((row) => row.id !== id);
    const isFound = document !== undefined && isNamed(document, this.#words);
    this.#rows = isFound ? this.#sorted([...others, { id, doc: document }]) : others;
    while (this.#first > 0 && this.#first >= this.#rows.length) this.#first -= PAGE;
  }

  #sorted(rows: readonly Row[]): readonly Row[] {
    const rank = ({ id }: Row) => (id.startsWith(this.#start) ? 0 : 1);
    return [...rows].sort((one, other) => rank(one) - rank(other) || (one.id < other.id ? -1 : 1));
  }
}
