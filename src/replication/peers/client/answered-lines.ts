/** Cuts lines out of text that arrives in pieces. */

export class LineCutter {
  readonly #longest: number;
  /** The beginning of a line whose end has not arrived yet. */
  #rest = '';

  /** `longest`: maximum characters of a line. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  get rest(): string {
    return this.#rest;
  }

  /** Returns the lines that end in this piece. Reads only the piece, however long the line is. Throws `SyntaxError` for a line that is too long. */
  push(piece: string): string[] {
    const lines = piece.split('\n');
    const [first = '', ...others] = lines;
    this.#rest += first;
    if (this.#rest.length > this.#longest) throw new SyntaxError('A line is too long');
    const last = others.pop();
    if (last === undefined) return [];
    const ended = [this.#rest, ...others];
    this.#rest = last;
    return ended;
  }
}
