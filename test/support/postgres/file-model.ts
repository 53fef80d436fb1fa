import type { Commit, PageValue } from '../../../src/storage/page-store.ts';
import { type FileContent, relaxed } from '../../conformance/storage/expectations.ts';

/** What a file must hold. */
export class FileModel {
  head: string | undefined;
  readonly journal = new Map<number, string>();
  readonly pages = new Map<number, PageValue>();

  apply({ journal, writePages = [], dropPages = [], head, truncateJournal = 0 }: Commit): void {
    if (journal !== undefined) this.journal.set(journal.number, journal.text);
    for (const { number, value } of writePages) this.pages.set(number, value);
    for (const number of dropPages) this.pages.delete(number);
    this.head = head ?? this.head;
    for (const number of [...this.journal.keys()]) if (number < truncateJournal) this.journal.delete(number);
  }

  get content(): FileContent {
    const pages = [...this.pages].sort(([left], [right]) => left - right);
    return {
      head: this.head,
      journal: [...this.journal],
      pages: pages.map(([number, value]) => [number, typeof value === 'string' ? value : [...value]]),
    };
  }

  get pageBytes(): number {
    return [...this.pages.values()].reduce((sum, { length }) => sum + length, 0);
  }
}

/** Commits of every kind. A large one takes several statements. */
export function commitsFrom(next: number): Commit[] {
  const large = Array.from({ length: 6 }, (_, at) => ({
    number: next * 1000 + 2 * at + 101,
    value: new Uint8Array(2 ** 20).fill(at),
  }));
  return [
    relaxed({ journal: { number: next, text: `record ${next}` } }),
    { durability: 'strict', journal: { number: next + 1, text: `record ${next + 1}` } },
    relaxed({ writePages: [{ number: next * 1000, value: `page ${next}` }] }),
    relaxed({
      journal: { number: next + 2, text: `record ${next + 2}` },
      writePages: [{ number: next * 1000 + 1, value: new Uint8Array([next]) }],
      head: `head ${next}`,
    }),
    { durability: 'strict', truncateJournal: next + 1, head: 'truncated' },
    relaxed({ writePages: large, head: 'large' }),
    relaxed({ dropPages: [next * 1000, ...large.map(({ number }) => number)] }),
    { durability: 'strict' },
  ];
}
