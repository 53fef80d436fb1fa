/**
 * `JSON.parse` for text that comes in pieces, so that much of it is parsed before the rest is there. What it gives is what `JSON.parse` of
 * the whole gives, and so is its SyntaxError, whatever the text and wherever it is cut.
 *
 * What takes long to parse is an object with one long list in it. Where a piece ends between two elements of that list, the elements are a
 * list of their own. In the end the object is parsed without them, and must have exactly that list, empty. All else is parsed whole.
 */
export class JsonPieces {
  #whole = '';
  /** Up to the first bracket and with it, which may be that of the list. */
  #head = '';
  /** What came behind the head and is not in `#lists`. */
  #rest = '';
  #lists: unknown[][] = [];
  /** No piece after it is worth an attempt. */
  #isCutElsewhere = false;

  add(piece: string): void {
    this.#whole += piece;
    this.#rest += piece;
    if (!this.#head) {
      const start = this.#rest.indexOf('[') + 1;
      this.#head = this.#rest.slice(0, start);
      this.#rest = this.#rest.slice(start);
    }
    if (!this.#head || this.#isCutElsewhere) return;
    try {
      this.#take(this.#rest);
      this.#rest = '';
    } catch {
      this.#isCutElsewhere = true;
    }
  }

  /** Throws as `JSON.parse` does. Nothing can be added after it. */
  parse(): unknown {
    // There is no other bracket behind this one, so if an array is left it is that of the first one, in which the lists were.
    const end = this.#rest.lastIndexOf(']');
    try {
      const root: Record<string, unknown> = JSON.parse(this.#head + this.#rest.slice(end));
      this.#take(this.#rest.slice(0, end));
      const name = Object.keys(root).find((key) => Array.isArray(root[key]));
      if (end >= 0 && name !== undefined) {
        root[name] = this.#lists.flat();
        return root;
      }
    } catch {
      // The whole tells what is wrong with it, if anything is.
    }
    return JSON.parse(this.#whole);
  }

  /** The next elements: none, or with a comma before them where others were before. Throws where it is something else. */
  #take(text: string): void {
    const isMore = this.#lists.length > 0 && text.startsWith(',');
    const list: unknown[] = JSON.parse(`[${isMore ? text.slice(1) : text}]`);
    if (this.#lists.length > 0 && isMore !== list.length > 0) throw new SyntaxError();
    if (list.length > 0) this.#lists.push(list);
  }
}
