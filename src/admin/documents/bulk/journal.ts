/** What undoes a bulk change: the documents as they were before, up to a bound, in the memory of the page. */
import type { JsonObject } from '../../server/json.ts';

export interface JournalEntry {
  /** The revision that the change made: what is undone must still be that. */
  readonly rev: string;
  /** The former members without `_id` and `_rev`, as JSON; undefined: the document was not there. */
  readonly before: string | undefined;
}

/** Characters of former documents that the page keeps for one change. */
export const MAX_JOURNAL_CHARACTERS = 32_000_000;

export class Journal {
  readonly #entries = new Map<string, JournalEntry>();
  readonly #max: number;
  #characters = 0;
  #leftOut = 0;

  constructor(max = MAX_JOURNAL_CHARACTERS) {
    this.#max = max;
  }

  /** Documents that can't be changed back. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** By the documents' ids. */
  get entries(): ReadonlyMap<string, JournalEntry> {
    return this.#entries;
  }

  hasRoomFor(characters: number): boolean {
    return this.#characters + characters <= this.#max;
  }

  keep(id: string, rev: string, { _id, _rev, ...members }: JsonObject): void {
    const before = JSON.stringify(members);
    if (this.hasRoomFor(before.length)) {
      this.#characters += before.length;
      this.#entries.set(id, { rev, before });
    } else this.leaveOut();
  }

  /** The change made the document: without it, it was not there. */
  keepNew(id: string, rev: string): void {
    this.#entries.set(id, { rev, before: undefined });
  }

  leaveOut(): void {
    this.#leftOut += 1;
  }
}
