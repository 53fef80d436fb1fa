/** The pages of a list that were seen last. Only pages in sight are loaded, and those that went out of sight before they came are aborted. */
import type { PageWish, RowSource, Search, SourcePage, SourceRow } from './row-source.ts';

/** Pages kept in memory: those seen last. */
const KEPT = 40;

export interface ListState {
  /** Rows that the list has, as far as is known. */
  readonly count: number;
  /** Documents that match; undefined: it is not known. */
  readonly total: number | undefined;
  /** There are more than `count`. */
  readonly hasMore: boolean;
  /** Undefined until the first page came, or failed. */
  readonly isLoaded: boolean;
  readonly failure: unknown;
  /** Rows of a page are searched for now, and more may come. */
  readonly search?: Search | undefined;
}

export class PageCache {
  readonly #source: RowSource;
  readonly #wish: Pick<PageWish, 'limit' | 'withDocs'>;
  readonly #changed: () => void;
  readonly #pages = new Map<number, readonly SourceRow[]>();
  readonly #loading = new Map<number, AbortController>();
  /** Pages of which only some rows are there: those that were found so far. */
  readonly #partial = new Set<number>();
  /** Where pages begin that can't be reached by their number. */
  readonly #cursors = new Map<number, string>();
  /** Rows up to the last one that ever came. */
  #seen = 0;
  /** The number of all rows, once the last page was seen. */
  #end: number | undefined;
  /** What was in sight last. */
  #range = { from: 0, to: 1 };
  #state: ListState = { count: 0, total: undefined, hasMore: false, isLoaded: false, failure: undefined };

  constructor(source: RowSource, wish: Pick<PageWish, 'limit' | 'withDocs'>, changed: () => void) {
    this.#source = source;
    this.#wish = wish;
    this.#changed = changed;
  }

  get state(): ListState {
    return this.#state;
  }

  /** Nothing was asked for yet. */
  get isIdle(): boolean {
    return this.#pages.size === 0 && this.#loading.size === 0;
  }

  /** Undefined until its page is there. */
  rowAt(index: number): SourceRow | undefined {
    return this.#pages.get(this.#pageOf(index))?.[index % this.#wish.limit];
  }

  /** Loads the rows, the end excluded. */
  need(from: number, to: number): void {
    this.#range = { from, to: Math.max(to, from + 1) };
    // Without the first page, the others of some lists can't be reached.
    if (!this.#state.isLoaded && !this.#source.isRandom) void this.#load(0);
    for (const [page, controller] of this.#loading) {
      if (this.#isInSight(page) || (page === 0 && !this.#state.isLoaded)) continue;
      controller.abort();
      this.#loading.delete(page);
      this.#dropPartial(page);
    }
    for (let page = this.#pageOf(from); page <= this.#pageOf(this.#range.to - 1); page += 1) {
      const rows = this.#pages.get(page);
      if (rows === undefined) void this.#load(page);
      else this.#keepLast(page, rows);
    }
  }

  /** Reads again what is in sight. Until it is there, the former rows stay. */
  reload(): void {
    this.close();
    this.#end = undefined;
    const { from, to } = this.#range;
    if (this.#source.isRandom) {
      for (const page of this.#pages.keys()) if (!this.#isInSight(page)) this.#pages.delete(page);
    } else {
      this.#pages.clear();
      this.#partial.clear();
      this.#cursors.clear();
      this.#seen = 0;
    }
    const first = this.#source.isRandom ? this.#pageOf(from) : 0;
    // The first page also knows how many there are.
    const last = this.#source.isRandom ? this.#pageOf(Math.max(from, to - 1)) : 0;
    if (first > 0) void this.#load(0);
    for (let page = first; page <= last; page += 1) void this.#load(page);
  }

  close(): void {
    for (const controller of this.#loading.values()) controller.abort();
    this.#loading.clear();
  }

  async #load(page: number): Promise<void> {
    const cursor = this.#cursors.get(page);
    const isReachable = page === 0 || this.#source.isRandom || cursor !== undefined;
    if (this.#loading.has(page) || !isReachable) return;
    const controller = new AbortController();
    this.#loading.set(page, controller);
    const at = this.#source.isRandom ? { skip: page * this.#wish.limit } : { cursor };
    try {
      const found = await this.#source.read({ ...this.#wish, ...at }, controller.signal, (rows, search) => {
        if (!controller.signal.aborted) this.#takePart(page, rows, search);
      });
      if (controller.signal.aborted) return;
      this.#loading.delete(page);
      this.#take(page, found);
    } catch (failure) {
      if (controller.signal.aborted) return;
      this.#loading.delete(page);
      this.#state = { ...this.#state, isLoaded: true, failure, search: undefined };
    }
    this.#changed();
  }

  #take(page: number, { rows, next, total = this.#state.total }: SourcePage): void {
    this.#partial.delete(page);
    this.#keepLast(page, rows);
    const seen = page * this.#wish.limit + rows.length;
    if (next !== undefined) this.#cursors.set(page + 1, next);
    const isKnown = this.#source.isRandom && total !== undefined;
    if (next === undefined && !isKnown) this.#end = seen;
    this.#seen = Math.max(this.#seen, seen);
    const count = isKnown ? total : (this.#end ?? this.#seen);
    const hasMore = !isKnown && this.#end === undefined;
    this.#state = { count, total: this.#end ?? total, hasMore, isLoaded: true, failure: undefined };
  }

  /** Shows what is found so far. */
  #takePart(page: number, rows: readonly SourceRow[], search: Search): void {
    this.#partial.add(page);
    this.#keepLast(page, rows);
    this.#seen = Math.max(this.#seen, page * this.#wish.limit + rows.length);
    this.#state = { ...this.#state, count: this.#seen, hasMore: true, isLoaded: true, failure: undefined, search };
    this.#changed();
  }

  /** A page whose search was aborted is searched for again when it comes into sight. */
  #dropPartial(page: number): void {
    if (!this.#partial.delete(page)) return;
    this.#pages.delete(page);
    this.#state = { ...this.#state, search: undefined };
  }

  #keepLast(page: number, rows: readonly SourceRow[]): void {
    this.#pages.delete(page);
    this.#pages.set(page, rows);
    for (const other of this.#pages.keys()) {
      if (this.#pages.size <= KEPT) return;
      this.#pages.delete(other);
    }
  }

  #pageOf(index: number): number {
    return Math.floor(index / this.#wish.limit);
  }

  #isInSight(page: number): boolean {
    return page >= this.#pageOf(this.#range.from) && page <= this.#pageOf(this.#range.to - 1);
  }
}
