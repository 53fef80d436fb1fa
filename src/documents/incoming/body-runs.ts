/**
 * Puts together what stays of an object's text when some of its members are cut out of it. Neighbours that stay are taken
 * as one slice; a client that writes the reserved members first, or none, costs one slice in all.
 */
export class BodyRuns {
  readonly #text: string;
  #start = 0;
  /** Where the run of members that is being lengthened lies; it has begun where `#runStart` is not negative. */
  #runStart = -1;
  #runEnd = -1;
  #closed = '';
  #hasCut = false;

  constructor(text: string) {
    this.#text = text;
  }

  /** Begins with the object whose brace is at `start`. */
  begin(start: number): void {
    this.#start = start;
    this.#runStart = -1;
    this.#closed = '';
    this.#hasCut = false;
  }

  /** The member at [start, end) stays. */
  keep(start: number, end: number): void {
    if (this.#runStart < 0) this.#runStart = start;
    this.#runEnd = end;
  }

  /** The member that comes now is left out. */
  cut(): void {
    this.#hasCut = true;
    if (this.#runStart < 0) return;
    const run = this.#text.slice(this.#runStart, this.#runEnd);
    this.#closed = this.#closed === '' ? run : `${this.#closed},${run}`;
    this.#runStart = -1;
  }

  /** The text of what stays; `end` is behind the object's closing brace. */
  body(end: number): string {
    if (!this.#hasCut) return this.#text.slice(this.#start, end);
    if (this.#runStart < 0) return `{${this.#closed}}`;
    const last = this.#text.slice(this.#runStart, end);
    return this.#closed === '' ? `{${last}` : `{${this.#closed},${last}`;
  }
}
