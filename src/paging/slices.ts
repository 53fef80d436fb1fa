/**
 * What a checkpoint writes comes from generators, page by page, and goes to the file in slices: many pages in one
 * commit, since each commit costs time of its own, but not so many that requests have to wait for long.
 */
import type { NodeWrite, TreeRoot } from '../btree/contract.ts';
import type { Page } from '../storage/page-store.ts';

/** A page that has to be written. */
export interface PageWrite {
  readonly page: Page;
  /** To be called once the page can be read from the file. */
  stored(): void;
}

/** Pages for one commit. */
export interface Slice<T> {
  readonly pages: readonly Page[];
  readonly bytes: number;
  /** What the generator returned, where nothing is left behind this slice; else undefined. */
  readonly result: T | undefined;
  /** To be called once the pages can be read from the file. */
  stored(): void;
}

/** Takes pages until they have `limit` bytes, `isDue` says that time is up, or none are left; at least one. */
export function gatherSlice<T>(
  writes: Generator<PageWrite, T>,
  limit: number,
  isDue: () => boolean = () => false,
): Slice<T> {
  const gathered: PageWrite[] = [];
  const pages: Page[] = [];
  let bytes = 0;
  let result: T | undefined;
  do {
    const next = writes.next();
    if (next.done) {
      result = next.value;
      break;
    }
    gathered.push(next.value);
    pages.push(next.value.page);
    bytes += next.value.page.value.length;
  } while (bytes < limit && !isDue());
  const stored = (): void => {
    for (const write of gathered) write.stored();
  };
  return { pages, bytes, result, stored };
}

/** The pages of a tree's nodes; returns the root as heads have it, null for an empty tree. */
export function* nodeWrites(nodes: Generator<NodeWrite, TreeRoot | undefined>): Generator<PageWrite, TreeRoot | null> {
  for (;;) {
    const next = nodes.next();
    if (next.done) return next.value ?? null;
    const { page, text } = next.value;
    yield { page: { number: page, value: text }, stored: () => next.value.stored() };
  }
}
