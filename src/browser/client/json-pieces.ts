/**
 * `JSON.parse` for text that comes in pieces, so that much of it is parsed before the rest is there. The result is what `JSON.parse` of the
 * whole text gives, or the same SyntaxError, for any text and wherever it is cut.
 *
 * What takes long to parse is an object with one long array in it. As long as pieces end between two elements of that array, the elements of
 * a piece are parsed as an array of their own. In the end the object is parsed without them, and must have exactly one array, which is empty
 * then. Any other text is parsed as a whole.
 */
export class JsonPieces {
  #whole = '';
  /** Up to the first opening bracket, which may be that of the array, and with it. */
  #beginning = '';
  /** What came behind the beginning and is not in `#arrays`. */
  #rest = '';
  #arrays: unknown[][] = [];
  /** A piece did not end between two elements, so that no further attempt is made. */
  #isCutElsewhere = false;

  add(piece: string): void {
    this.#whole += piece;
    this.#rest += piece;
    if (!this.#beginning) {
      const start = this.#rest.indexOf('[') + 1;
      this.#beginning = this.#rest.slice(0, start);
      this.#rest = this.#rest.slice(start);
    }
    if (!this.#beginning || this.#isCutElsewhere) return;
    try {
      this.#take(this.#rest);
      this.#rest = '';
    } catch {
      this.#isCutElsewhere = true;
    }
  }

  /** Throws as `JSON.parse` does. Nothing can be added after it. */
  parse(): unknown {
    // There is no other bracket behind this one. So if the object has an array, it is the one in which the elements were.
    const end = this.#rest.lastIndexOf(']');
    try {
      const root: Record<string, unknown> = JSON.parse(this.#beginning + this.#rest.slice(end));
      this.#take(this.#rest.slice(0, end));
      const name = Object.keys(root).find((key) => Array.isArray(root[key]));
      if (end >= 0 && name !== undefined) {
        root[name] = this.#arrays.flat();
        return root;
      }
    } catch {
      // `JSON.parse` of the whole text says what is wrong with it, if anything is.
    }
    return JSON.parse(this.#whole);
  }

  /** Takes the next elements: none, or with a comma before them where others came before. Throws where the text is anything else. */
  #take(text: string): void {
    const isMore = this.#arrays.length > 0 && text.startsWith(',');
    const elements: unknown[] = JSON.parse(`[${isMore ? text.slice(1) : text}]`);
    if (this.#arrays.length > 0 && isMore !== elements.length > 0) throw new SyntaxError();
    if (elements.length > 0) this.#arrays.push(elements);
  }
}
