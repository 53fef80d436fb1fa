import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { FollowedFile, FollowedState, Opening, PageFile, PageNumber } from '../page-store.ts';
import { LAST_EPOCH } from './page-allocator.ts';
import { readOnlyError } from './page-errors.ts';

/** A file that another one owns, at one of its states: for code that reads through a `PageFile`. All that would write is refused. */
export class ReadOnlyFile implements PageFile {
  readonly opening: Opening;
  readonly readRange?: NonNullable<PageFile['readRange']>;
  readonly readAhead?: NonNullable<PageFile['readAhead']>;
  readonly #file: FollowedFile;
  readonly #state: Pick<FollowedState, 'point'>;

  constructor(file: FollowedFile, state: FollowedState) {
    this.#file = file;
    this.#state = state;
    const { point, records } = state;
    this.opening = { epoch: point.epoch, head: point.head, journal: records, nextJournal: point.record + 1 };
    if (file.readRange !== undefined) this.readRange = file.readRange.bind(file);
    if (file.readAhead !== undefined) this.readAhead = file.readAhead.bind(file);
  }

  get name(): string {
    return this.#file.name;
  }

  read(page: PageNumber, kind: 'text'): MaybePromise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): MaybePromise<Uint8Array | undefined>;
  read(page: PageNumber, kind: 'text' | 'bytes'): MaybePromise<string | Uint8Array | undefined> {
    return kind === 'text' ? this.#file.read(page, 'text') : this.#file.read(page, 'bytes');
  }

  async commit(): Promise<never> {
    throw readOnlyError(this.name);
  }

  // biome-ignore lint/correctness/useYield: a follower looks for no pages that the trees don't name
  async *pageNumbers(): AsyncIterable<readonly PageNumber[]> {
    throw readOnlyError(this.name);
  }

  /** Whether the owner has written no other head since: pages of an older one may be missing. */
  async isCurrent(): Promise<boolean> {
    const state = await this.#file.poll(this.#state.point, true);
    state?.release();
    return state?.continues ?? true;
  }

  size(): Promise<number> {
    return this.#file.size();
  }

  async close(): Promise<void> {}
}

/** The epoch from which pages are numbered that exist only in a follower's memory: no owner has it. */
export const FOLLOWER_EPOCH = LAST_EPOCH;
