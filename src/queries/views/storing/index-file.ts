import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { CacheBudget } from '../../../base/shared/cache-budget.ts';
import type { Crc32 } from '../../../base/shared/crc32.ts';
import type { TimeSlice } from '../../../base/shared/turn.ts';
import { type NodeReader, pageNumbers, type ReplacedNode, type TreeRoot } from '../../../storage/btree/contract.ts';
import type { Tree } from '../../../storage/btree/tree.ts';
import type { Page, PageFile, PageNumber, PageStoreSupport } from '../../../storage/page-store.ts';
import { CheckedFile } from '../../../storage/paging/checked-file.ts';
import { PAGE_OVERHEAD } from '../../../storage/paging/checksums.ts';
import { decodeFreeList, FreeList } from '../../../storage/paging/free-list.ts';
import { PageAllocator } from '../../../storage/paging/page-allocator.ts';
import { PageCache } from '../../../storage/paging/page-cache.ts';
import { createNodeReader, cutText } from '../../../storage/paging/page-texts.ts';
import { gatherSlice, nodeWrites } from '../../../storage/paging/slices.ts';
import type { SnapshotRegister } from '../../../storage/paging/snapshot-register.ts';
import type { ViewSettings } from '../settings.ts';
import { type IndexState, makeReductions } from '../trees/index-state.ts';
import {
  decodeIndexRoots,
  encodeIndexHead,
  INDEX_FORMAT_VERSION,
  type IndexHead,
  type IndexRoots,
} from './index-head.ts';

/** Pages that are dropped in one commit. */
const DROP_SLICE = 256;

interface IndexFileOptions {
  readonly snapshots: SnapshotRegister;
  readonly settings: ViewSettings;
  /** Bounds the memory of all page caches together. */
  readonly cache: CacheBudget;
  readonly supports: PageStoreSupport;
}

/** The part of the head that says which index the file has. */
export type IndexIdentity = Pick<IndexHead, 'signature' | 'collation' | 'uuid' | 'epoch'>;

/**
 * The file of one index. A checkpoint writes a state's nodes in slices, then replaces the head in one commit. Pages that
 * are no longer used are dropped afterwards, as soon as no reader needs them. Calls that write must not overlap, except
 * those of a copy.
 */
export class IndexFile {
  readonly file: PageFile;
  readonly reader: NodeReader;
  readonly cache: PageCache;
  readonly #settings: ViewSettings;
  readonly #crc32: Crc32;
  readonly #maxPageLength: number;
  readonly #allocator: PageAllocator;
  readonly #freeList: FreeList;
  /** Pages that the head refers to: the roots, and the lists of free pages. */
  #headPages: PageNumber[] = [];
  /** Pages of a copy that is not complete yet. */
  #copied: PageNumber[] = [];
  readonly #pageMark: number;
  readonly #checkedFrom: PageNumber;
  /** The errors of reads whose page is missing or damaged, and of commits that found damage. */
  readonly #damageErrors = new WeakSet<DatabaseError>();
  #damage: DatabaseError | undefined;

  constructor(file: PageFile, head: IndexHead | undefined, options: IndexFileOptions) {
    const { snapshots, settings, cache, supports } = options;
    const { crc32 } = supports;
    this.#crc32 = crc32;
    this.#maxPageLength = supports.maxPageBytes - PAGE_OVERHEAD;
    this.#settings = settings;
    this.cache = new PageCache(cache);
    this.#pageMark = head?.pageMark ?? 0;
    this.#allocator = new PageAllocator(file.opening.epoch, this.#pageMark);
    this.#checkedFrom = Math.min(head?.checkedFrom ?? 0, this.#allocator.next);
    const onDamage = (error: DatabaseError) => this.#damageErrors.add(error);
    this.file = new CheckedFile(file, { crc32, checkedFrom: this.#checkedFrom, onDamage });
    this.reader = createNodeReader(this.file, onDamage);
    this.#freeList = new FreeList(snapshots);
  }

  /** Reads the roots of the trees, and the lists of free pages. */
  async readRoots(head: IndexHead): Promise<IndexRoots> {
    const rootsPages = { page: head.rootsPage, pages: head.rootsPages ?? 1 };
    const roots = decodeIndexRoots(await this.reader.readNode(rootsPages.page, rootsPages.pages));
    this.#headPages = [...pageNumbers(rootsPages), ...roots.garbage];
    for (const page of roots.garbage) {
      this.#freeList.add(0, decodeFreeList(await this.reader.readNode(page, 1)), this.file);
    }
    return roots;
  }

  /** Frees the pages that an interrupted checkpoint has left, which are above the head's mark; without a head all pages. */
  async freeLeftovers(): Promise<void> {
    // No head has led to those of an interrupted checkpoint, but followers may still read what the former head led to.
    const file = this.#pageMark === 0 ? this.file : undefined;
    for await (const numbers of this.file.pageNumbers(this.#pageMark)) this.#freeList.add(0, numbers, file);
  }

  /** Stores a state. `replaced`: nodes of earlier states that it does not have. */
  async checkpoint(
    state: IndexState,
    identity: IndexIdentity,
    replaced: readonly ReplacedNode[],
    timeSlice: TimeSlice,
  ): Promise<void> {
    const byDocument = await this.storeTree(state.byDocument, timeSlice);
    const trees: IndexRoots['trees'][number][] = [];
    for (const { rows, lastChange } of state.trees) {
      trees.push({ root: await this.storeTree(rows, timeSlice), lastChange });
    }
    const freed = replaced.flatMap(pageNumbers);
    await this.#replaceHead(
      state,
      identity,
      { byDocument, trees, firstPass: state.firstPass, leftOut: state.leftOut || undefined },
      freed,
    );
  }

  async #replaceHead(
    { version, updateSeq, purgeSeq, seenSeq }: IndexState,
    identity: IndexIdentity,
    roots: Omit<IndexRoots, 'garbage'>,
    freed: readonly PageNumber[],
  ): Promise<void> {
    const unused = [...freed, ...this.#headPages];
    const lists = this.#freeList.toLists([...unused, ...this.#copied], this.#allocator, this.#maxPageLength);
    const garbage = lists.map((page) => page.number);
    const pieces = cutText(JSON.stringify({ ...roots, garbage } satisfies IndexRoots), this.#maxPageLength);
    const rootsPage = this.#allocator.allocate(pieces.length);
    const pageMark = this.#allocator.next;
    const head: IndexHead = {
      format: INDEX_FORMAT_VERSION,
      ...identity,
      updateSeq,
      purgeSeq,
      seenSeq,
      rootsPage,
      ...(pieces.length > 1 ? { rootsPages: pieces.length } : {}),
      checkedFrom: this.#checkedFrom,
      pageMark,
    };
    const rootsWrites = pieces.map((value, index) => ({ number: rootsPage + index, value }));
    await this.file.commit({
      durability: 'relaxed',
      head: encodeIndexHead(head, this.#crc32),
      writePages: [...lists, ...rootsWrites],
    });
    this.#headPages = [...rootsWrites.map(({ number }) => number), ...garbage];
    this.#freeList.add(version, unused, this.file);
  }

  /** Writes the nodes of a tree that are not stored yet, in slices. Returns its root. */
  storeTree<K, R>(tree: Tree<K, R>, timeSlice: TimeSlice): Promise<TreeRoot | null> {
    // The same commits drop pages that earlier checkpoints freed, so that the file does not grow in a long build.
    return this.#storeTree(tree, timeSlice, (pages) => this.#freeList.commit(this.file, pages, DROP_SLICE));
  }

  /**
   * Writes the nodes of a copy's tree, also while a checkpoint runs. Until `endCopy` the pages are listed as free in the head,
   * so that they are dropped if the process ends before.
   */
  async storeCopy<K, R>(tree: Tree<K, R>, timeSlice: TimeSlice): Promise<void> {
    await this.#storeTree(tree, timeSlice, (pages) => this.#writeCopy(pages));
  }

  /** Ends a copy. Either it has become the index, or it is not used and its pages are freed: no head has led to them, so followers need none. */
  endCopy(isUsed: boolean, version: number): void {
    if (!isUsed) this.#freeList.add(version, this.#copied);
    this.#copied = [];
  }

  async #writeCopy(writePages: readonly Page[]): Promise<void> {
    for (const { number } of writePages) this.#copied.push(number);
    await this.file.commit({ durability: 'relaxed', writePages });
  }

  async #storeTree<K, R>(
    tree: Tree<K, R>,
    timeSlice: TimeSlice,
    write: (pages: readonly Page[]) => Promise<void>,
  ): Promise<TreeRoot | null> {
    await makeReductions(tree, timeSlice);
    const nodes = nodeWrites(tree, this.#allocator, this.#maxPageLength);
    for (;;) {
      const slice = gatherSlice(nodes, this.#settings.sliceBytes, () => timeSlice.isDue);
      if (slice.pages.length > 0) await write(slice.pages);
      slice.stored();
      if (slice.result !== undefined) return slice.result;
      await timeSlice.rest();
    }
  }

  /**
   * Checks whether an error means damage. To be called only for reads whose state was still held: pages of a state that was
   * released may be missing.
   */
  noteFailure(error: unknown): void {
    if (error instanceof DatabaseError && this.#damageErrors.has(error)) this.#damage ??= error;
  }

  /** The first error that showed that the file is damaged. */
  get damage(): DatabaseError | undefined {
    return this.#damage;
  }

  get hasDroppable(): boolean {
    return this.#freeList.hasDroppable;
  }

  /** Closes the file and its page cache, without storing anything. */
  async close(): Promise<void> {
    this.cache.close();
    await this.file.close();
  }

  /** Drops free pages that no reader needs. */
  async dropFree(): Promise<void> {
    while (this.#freeList.hasDroppable) await this.#freeList.commit(this.file, [], DROP_SLICE);
  }
}
