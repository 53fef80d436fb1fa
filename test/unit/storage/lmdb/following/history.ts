/** The history that history-program.ts writes, and what a follower must find of it. */
import { assert } from 'chai';
import { must } from '../../../../../src/base/shared/assert.ts';
import type { FollowedFile, FollowedState, PageNumber } from '../../../../../src/storage/page-store.ts';

/** A record, or a head. */
export interface Entry {
  /** The chain of the record before it. Heads have none. */
  readonly before?: string;
  /** Of the last record that it includes: its number and random digits. */
  readonly chain: string;
  readonly pages: readonly PageNumber[];
  readonly padding?: string;
}

export function pageText(page: PageNumber): string {
  return `page ${page} `.repeat(200);
}

/** What a follower has of the history, checked with each state that it sees. */
export class SeenHistory {
  #file: FollowedFile;
  /** Chains by the numbers of their records: none may ever be another. */
  readonly #chains = new Map<number, string>();
  #state: FollowedState | undefined;
  #chain = '';
  #pages: PageNumber[] = [];
  states = 0;

  constructor(file: FollowedFile) {
    this.#file = file;
  }

  get last(): number {
    return numberOf(this.#chain);
  }

  get epoch(): number {
    return this.#state?.point.epoch ?? 0;
  }

  /** Goes on with another follower, from the beginning. No state of the former one may be held. */
  async reopen(follow: () => Promise<FollowedFile>): Promise<void> {
    await this.#file.close();
    this.#file = await follow();
    this.#state = undefined;
  }

  /** Polls once; the state must have every record up to `acknowledged`. Returns what checks its pages later, and releases it. */
  async poll(acknowledged: number): Promise<() => Promise<void>> {
    const next = await this.#file.poll(this.#state?.point, this.#state === undefined);
    if (next !== undefined) this.#apply(next);
    assert.isAtLeast(this.last, acknowledged, 'all acknowledged records');
    if (next === undefined) return async () => undefined;
    const pages = [...this.#pages];
    return async () => {
      for (const page of pages) assert.equal(await this.#file.read(page, 'text'), pageText(page), `page ${page}`);
      next.release();
    };
  }

  #apply(state: FollowedState): void {
    const { point, continues, records } = state;
    const before = this.last;
    if (!continues) {
      const head: Entry = JSON.parse(point.head ?? '{"chain":"","pages":[]}');
      this.#chain = head.chain;
      this.#pages = [...head.pages];
      this.#note();
    }
    for (const { number, text } of records) {
      const entry: Entry = JSON.parse(text);
      assert.equal(entry.before, this.#chain, `record ${number} comes after`);
      assert.equal(numberOf(entry.chain), number);
      this.#chain = entry.chain;
      this.#pages.push(...entry.pages);
      this.#note();
    }
    assert.equal(point.record, records.at(-1)?.number ?? (continues ? must(this.#state).point.record : 0));
    assert.isAtLeast(this.last, before, 'the history never ends earlier');
    this.#state = state;
    this.states += 1;
  }

  #note(): void {
    const known = this.#chains.get(this.last);
    assert.equal(this.#chain, known ?? this.#chain, 'a record that was seen stays');
    this.#chains.set(this.last, this.#chain);
  }
}

function numberOf(chain: string): number {
  return Number(chain.split('-')[0]);
}
