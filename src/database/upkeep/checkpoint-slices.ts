import type { NodeWrite, TreeRoot } from '../../btree/contract.ts';
import type { Page } from '../../storage/page-store.ts';
import type { Head } from '../state/head.ts';

/** What a checkpoint writes, in pieces: pages that belong together, and slices of about the size that is asked for. */

export type Roots = Head['roots'];

export interface Slice {
  readonly pages: readonly Page[];
  /** To be called when the pages can be read. */
  stored(): void;
}

/** Pages that go into one commit; `roots` is there once nothing is left behind them. */
export interface GatheredSlice {
  readonly pages: readonly Page[];
  readonly bytes: number;
  readonly stored: readonly (() => void)[];
  readonly roots: Roots | undefined;
}

/** Takes slices until they have `limit` bytes, or there is no further one. */
export function gatherSlice(slices: Generator<Slice, Roots>, limit: number): GatheredSlice {
  const pages: Page[] = [];
  const stored: (() => void)[] = [];
  let bytes = 0;
  while (bytes < limit) {
    const next = slices.next();
    if (next.done) return { pages, bytes, stored, roots: next.value };
    const slice = next.value;
    for (const page of slice.pages) {
      pages.push(page);
      bytes += page.value.length;
    }
    stored.push(() => slice.stored());
  }
  return { pages, bytes, stored, roots: undefined };
}

/** A slice for each node; gives the root in the form of the head. */
export function* toSlices(nodes: Generator<NodeWrite, TreeRoot | undefined>): Generator<Slice, TreeRoot | null> {
  for (;;) {
    const next = nodes.next();
    if (next.done) return next.value ?? null;
    const node = next.value;
    yield { pages: [{ number: node.page, value: node.text }], stored: () => node.stored() };
  }
}
