/**
 * `JSON.parse` for text that arrives in pieces, so that much of it is parsed before the rest arrives. The result is that of `JSON.parse` for the
 * whole text, or the same SyntaxError, for any text and however it is cut.
 *
 * An object with one long array in it takes long to parse. As long as pieces end between two elements of that array, the elements of
 * a piece are parsed as an array of their own. In the end the object is parsed without them, and must have exactly one array, which is then
 * empty. Any other text is parsed as a whole.
 */
export class JsonPieces {
  #whole = '';
  /** Up to and including the first opening bracket, which may be that of the array. */
  #beginning = '';
  /** What came after the beginning and is not in `#arrays`. */
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

  /** Throws like `JSON.parse`. Nothing can be added afterwards. */
  parse(): unknown {
    // There is no other bracket after this one. So if the object has an array, it is the one that contained the elements.
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

  /** Takes the next elements: none, or preceded by a comma if others came before. Throws if the text is anything else. */
  #take(text: string): void {
    const isMore = this.#arrays.length > 0 && text.startsWith(',');
    const elements: unknown[] = JSON.parse(`[${isMore ? text.slice(1) : text}]`);
    if (this.#arrays.length > 0 && isMore !== elements.length > 0) throw new SyntaxError();
    if (elements.length > 0) this.#arrays.push(elements);
  }
}
