import { must } from '../../../../src/base/shared/assert.ts';
import { crc32 } from '../../../../src/base/shared/crc32.ts';
import { decodeIndexHead, decodeIndexRoots } from '../../../../src/queries/views/storing/index-head.ts';
import { INNER_HEADER } from '../../../../src/storage/btree/nodes/inner.ts';
import { NodeLink } from '../../../../src/storage/btree/nodes/link.ts';
import type { MemoryFile, MemoryMedium } from '../../../../src/storage/memory-page-store.ts';
import type { Commit, PageStore } from '../../../../src/storage/page-store.ts';
import { checkText } from '../../../../src/storage/paging/checksums.ts';

/** Pages of an index file that its head neither refers to nor lists as free: nobody would ever drop them. */
export function leakedPages(file: MemoryFile): number[] {
  if (file.head === undefined) return [];
  const { rootsPage } = must(decodeIndexHead(file.head, crc32));
  const { garbage, byDocument, trees } = decodeIndexRoots(textOf(file, rootsPage));
  const known = new Set<number>([rootsPage, ...garbage]);
  for (const list of garbage) for (const page of JSON.parse(textOf(file, list)) as number[]) known.add(page);
  const walk = (page: number): void => {
    known.add(page);
    const [first, ...lines] = textOf(file, page).split('\n');
    if (first === INNER_HEADER) for (const line of lines) walk(must(NodeLink.parse(line).page));
  };
  for (const root of [byDocument, ...trees.map((tree) => tree.root)]) if (root !== null) walk(root.page);
  return [...file.pages.keys()].filter((page) => !known.has(page));
}

function textOf(file: MemoryFile, page: number): string {
  const text = file.pages.get(page);
  if (typeof text !== 'string') throw new Error(`page ${page} is not there, or none of text`);
  return must(checkText(crc32, page, text));
}

/** The one index of a medium. */
export function indexOf(medium: MemoryMedium): MemoryFile {
  return must([...medium.files].find(([name]) => name.startsWith('db.1.')))[1];
}

/** A store with small leaves that runs `around` in the place of each commit of an index. */
export function aroundIndexCommits(
  store: PageStore,
  around: (commit: Commit, proceed: () => Promise<void>) => Promise<void>,
): PageStore {
  return {
    supports: { ...store.supports, leafBytes: 400 },
    list: () => store.list(),
    open: async (name, mode) => {
      const file = await store.open(name, mode);
      if (name === 'db.1') return file;
      const commit = file.commit.bind(file);
      file.commit = (parts) => around(parts, () => commit(parts));
      return file;
    },
    destroy: (file) => store.destroy(file),
    close: () => store.close(),
  };
}
