/** Cuts lines out of text that arrives in pieces. */

export class LineCutter {
  readonly #longest: number;
  /** The beginning of a line whose end is not there yet. */
  #rest = '';

  /** `longest`: characters of a line. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  get rest(): string {
    return this.#rest;
  }

  /** The lines that end in this piece. Only the piece is looked at, however long the line is. Throws `SyntaxError` for one that is too long. */
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
