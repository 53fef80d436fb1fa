/**
 * What a checkpoint writes comes from generators, page by page, and goes to the file in slices: many pages in one
 * commit, since each commit costs time of its own, but not so many that requests have to wait for long.
 */
import type { AllocateNode, NodeWrite, TreeRoot, TreeSizes } from '../btree/contract.ts';
import type { Page } from '../page-store.ts';
import { PAGE_OVERHEAD } from './checksums.ts';
import type { PageAllocator } from './page-allocator.ts';
import { cutText, pageCount } from './page-texts.ts';

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
  /** What the generator returned, if nothing is left after this slice; otherwise undefined. */
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

/** Returns the target sizes of nodes in a backend whose pages aim for `leafBytes`: a page has a checksum, too. */
export function treeSizes(leafBytes: number): TreeSizes {
  const aim = leafBytes - PAGE_OVERHEAD;
  return { leafBytes: aim, innerBytes: aim };
}

/** The parts of a tree that storing it needs. */
interface UnstoredTree {
  unstored(allocate: AllocateNode): Generator<NodeWrite, TreeRoot | undefined>;
}

/**
 * Yields the pages of a tree's unstored nodes, of at most `maxLength` units each; returns the root in the form that heads use
 * (null for an empty tree).
 */
export function* nodeWrites(
  tree: UnstoredTree,
  allocator: PageAllocator,
  maxLength: number,
): Generator<PageWrite, TreeRoot | null> {
  const nodes = tree.unstored(({ length }) => {
    const pages = pageCount(length, maxLength);
    return { page: allocator.allocate(pages), pages };
  });
  for (;;) {
    const next = nodes.next();
    if (next.done) return next.value ?? null;
    const { page, text } = next.value;
    const pieces = cutText(text, maxLength);
    for (const [index, value] of pieces.entries()) {
      const isLast = index === pieces.length - 1;
      yield { page: { number: page + index, value }, stored: () => (isLast ? next.value.stored() : undefined) };
    }
  }
}

/** Milliseconds that writing one slice should take: a request that comes meanwhile waits until the slice is written. */
const SLICE_MS = 20;
/** Share of the maximum that a first slice writes, and share that every slice may write, however slow the medium. */
const FIRST_SHARE = 1 / 4;
const MIN_SHARE = 1 / 32;

/**
 * How many bytes of pages a slice of a checkpoint writes: what this medium, on this machine, stores in the time that
 * requests may wait.
 */
export class SliceSize {
  readonly #most: number;
  #bytes: number;

  constructor(most: number) {
    this.#most = most;
    this.#bytes = most * FIRST_SHARE;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Notes that writing a slice of this many bytes took `ms`. Ignores small ones: they measure only the cost of a commit. */
  noteWritten(bytes: number, ms: number): void {
    if (bytes < this.#most * MIN_SHARE) return;
    const fitting = ms > 0 ? (bytes * SLICE_MS) / ms : this.#most;
    // Halfway, since other work may have affected a single measurement.
    this.#bytes = Math.min(this.#most, Math.max(this.#most * MIN_SHARE, (this.#bytes + fitting) / 2));
  }
}
