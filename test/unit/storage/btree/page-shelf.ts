import type { NodePages, TreeRoot, TreeSizes, TreeSpec } from '../../../../src/storage/btree/contract.ts';
import type { Tree, TreeOptions } from '../../../../src/storage/btree/tree.ts';
import { PageCache } from '../../../../src/storage/paging/page-cache.ts';
import { cutText, pageCount } from '../../../../src/storage/paging/page-texts.ts';

/** Sum and greatest of values that are numbers. */
export interface Totals {
  readonly sum: number;
  readonly most: number;
}

/** Keys are whole numbers, values the text of whole numbers. */
export const totalsSpec: TreeSpec<number, Totals> = {
  compare: (left, right) => left - right,
  encodeKey: String,
  decodeKey: Number,
  reduce(entries) {
    const values = Array.from({ length: entries.length }, (_unused, index) => Number(entries.value(index)));
    return { sum: values.reduce((sum, value) => sum + value, 0), most: Math.max(...values) };
  },
  rereduce: (parts) => ({
    sum: parts.reduce((sum, part) => sum + part.sum, 0),
    most: Math.max(...parts.map((part) => part.most)),
  }),
};

/** Pages in a Map, and a record of who read them. */
export class PageShelf {
  readonly pages = new Map<number, string>();
  /** Page numbers in the order in which they were read. */
  reads: number[] = [];
  isAsync = false;
  /** What a page may have at most. */
  pageLength = 1e9;
  #nextPage = 100;

  options<K, R>(spec: TreeSpec<K, R>, sizes: TreeSizes, cacheBytes = 1e9): TreeOptions<K, R> {
    return {
      spec,
      sizes,
      cache: new PageCache(cacheBytes),
      reader: { readNode: (page, pages) => this.#readNode(page, pages) },
    };
  }

  #readNode(page: number, pages: number): string | Promise<string> {
    const numbers = Array.from({ length: pages }, (_unused, index) => page + index);
    this.reads.push(...numbers);
    const missing = numbers.find((number) => !this.pages.has(number));
    if (missing !== undefined) throw new Error(`page ${missing} is missing`);
    const text = numbers.map((number) => this.pages.get(number)).join('');
    return this.isAsync ? Promise.resolve(text) : text;
  }

  /** A whole checkpoint in one turn. */
  store<K, R>(tree: Tree<K, R>): TreeRoot {
    const nodes = tree.unstored((text) => this.#allocate(text));
    for (let next = nodes.next(); ; next = nodes.next()) {
      if (next.done) {
        if (next.value === undefined) throw new Error('an empty tree has no root');
        return next.value;
      }
      const { page, text } = next.value;
      for (const [index, piece] of cutText(text, this.pageLength).entries()) this.pages.set(page + index, piece);
      next.value.stored();
    }
  }

  #allocate(text: string): NodePages {
    const page = this.#nextPage;
    const pages = pageCount(text.length, this.pageLength);
    this.#nextPage += pages;
    return { page, pages };
  }

  /** How many pages `work` reads. */
  async readsOf(work: () => unknown): Promise<number> {
    this.reads = [];
    await work();
    return this.reads.length;
  }
}

export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_unused, index) => from + index);
}

/** Changes that set each key to its own text. */
export function sets(keys: readonly number[]): { key: number; value: string }[] {
  return keys.map((key) => ({ key, value: String(key) }));
}

export function removals(keys: readonly number[]): { key: number; value: undefined }[] {
  return keys.map((key) => ({ key, value: undefined }));
}

export async function gather<T>(batches: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = [];
  for await (const batch of batches) all.push(...batch);
  return all;
}

export async function list<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
