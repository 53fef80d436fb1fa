/** The rows of a page of the list and some behind it, kept as the documents are by what is told of changes: nobody asks for them again. */
import type { Row } from '../data/database.ts';
import type { Change } from '../following/changes.ts';

/** On a page. */
export const PAGE = 40;
/** So many more are read: they move up when documents of the page go. */
const SPARE = 20;
export const WINDOW = PAGE + SPARE;

export class ListWindow {
  #rows: readonly Row[];
  readonly #start: string;
  readonly #prefix: string;
  /** There are no rows behind these. */
  #hasLast: boolean;

  /**
   * `rows` are in the order of their ids: the first ones from `start` on, of those that begin with `prefix`. Fewer than `WINDOW` are all of them.
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

  /** So many documents went that there may be some behind that belong to the page: these have to be read. */
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
