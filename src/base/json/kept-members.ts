/**
 * Assembles what stays of an object's text when some of its members are left out. Neighbours that stay are taken as one
 * slice: if nothing is left out of an object, or only its first members, it costs one slice in all.
 */
export class KeptMembers {
  readonly #text: string;
  #objectStart = 0;
  /** The members that were kept since the last one that was left out lie at [runStart, runEnd); none if runStart is negative. */
  #runStart = -1;
  #runEnd = -1;
  /** The text of the runs before that run. */
  #earlierRuns = '';
  #leftOut = false;

  constructor(text: string) {
    this.#text = text;
  }

  /** Begins with the object whose brace is at `start`. */
  begin(start: number): void {
    this.#objectStart = start;
    this.#runStart = -1;
    this.#earlierRuns = '';
    this.#leftOut = false;
  }

  /** The next member, at [start, end), stays. */
  keep(start: number, end: number): void {
    if (this.#runStart < 0) this.#runStart = start;
    this.#runEnd = end;
  }

  /** The next member is left out. */
  leaveOut(): void {
    this.#leftOut = true;
    if (this.#runStart < 0) return;
    const run = this.#text.slice(this.#runStart, this.#runEnd);
    this.#earlierRuns = this.#earlierRuns === '' ? run : `${this.#earlierRuns},${run}`;
    this.#runStart = -1;
  }

  /** Returns the text of what stays of the object, `end` being after the closing brace of the whole object. */
  objectText(end: number): string {
    if (!this.#leftOut) return this.#text.slice(this.#objectStart, end);
    if (this.#runStart < 0) return `{${this.#earlierRuns}}`;
    const lastRun = this.#text.slice(this.#runStart, end);
    return this.#earlierRuns === '' ? `{${lastRun}` : `{${this.#earlierRuns},${lastRun}`;
  }
}
