import type { Commit, JournalRecord } from './page-store.ts';

/** How much text a journal holds, wherever the backend keeps it. */
export class JournalSize {
  /** Lengths by the records' numbers, ascending. */
  readonly #lengths = new Map<number, number>();
  #bytes = 0;

  constructor(journal: readonly JournalRecord[]) {
    for (const record of journal) this.#add(record);
  }

  /** The sum of the lengths of all records; a character counts as one byte. */
  get bytes(): number {
    return this.#bytes;
  }

  committed({ journal, truncateJournal = 0 }: Pick<Commit, 'journal' | 'truncateJournal'>): void {
    if (journal !== undefined) this.#add(journal);
    if (truncateJournal === 0) return;
    for (const [number, length] of this.#lengths) {
      if (number >= truncateJournal) return;
      this.#lengths.delete(number);
      this.#bytes -= length;
    }
  }

  #add({ number, text }: JournalRecord): void {
    this.#lengths.set(number, text.length);
    this.#bytes += text.length;
  }
}
