/** The rows of a page of the list and some after it, kept up to date from reported changes, so that they need not be requested again. */
import type { Row } from '../data/database.ts';
import type { Change } from '../following/changes.ts';

/** How many rows a page has. */
export const PAGE = 40;
/** How many more rows are read: they move up when documents of the page are removed. */
const SPARE = 20;
export const WINDOW = PAGE + SPARE;

export class ListWindow {
  #rows: readonly Row[];
  readonly #start: string;
  readonly #prefix: string;
  /** There are no rows after these. */
  #hasLast: boolean;

  /**
   * `rows` are in the order of their ids: the first ones from `start` on that begin with `prefix`. Fewer than `WINDOW` are all that exist.
   */
  constructor(rows: readonly Row[], start: string, prefix: string) {
    this.#rows = rows;
    this.#start = start;
    this.#prefix = prefix;
    this.#hasLast = rows.length < WINDOW;
  }

  get page(): readonly Row[] {
    return this.#rows.slice(0, PAGE);
  }

  /** So many documents were removed that more of them, not read yet, may belong on the page. */
  get isShort(): boolean {
    return this.#rows.length < PAGE && !this.#hasLast;
  }

  follow({ id, document }: Change): void {
    if (!id.startsWith(this.#prefix) || id < this.#start) return;
    const at = this.#rows.findIndex((row) => row.id >= id);
    const isKnown = at >= 0 && this.#rows[at]?.id === id;
    if (isKnown) this.#rows = document ? this.#rows.with(at, { id, doc: document }) : this.#rows.toSpliced(at, 1);
    else if (document && (at >= 0 || this.#hasLast))
      this.#insert(at < 0 ? this.#rows.length : at, { id, doc: document });
  }

  #insert(at: number, row: Row): void {
    const rows = this.#rows.toSpliced(at, 0, row);
    if (rows.length > WINDOW) this.#hasLast = false;
    this.#rows = rows.slice(0, WINDOW);
  }
}
