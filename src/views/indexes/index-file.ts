import { type NodeReader, pageNumbers, type ReplacedNode, type TreeRoot } from '../../btree/contract.ts';
import type { Tree } from '../../btree/tree.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { decodeFreeList, FreeList } from '../../paging/free-list.ts';
import { createNodeReader } from '../../paging/node-reader.ts';
import { PageAllocator } from '../../paging/page-allocator.ts';
import { PageCache } from '../../paging/page-cache.ts';
import { cutText } from '../../paging/page-texts.ts';
import { gatherSlice, nodeWrites } from '../../paging/slices.ts';
import type { SnapshotRegister } from '../../paging/snapshot-register.ts';
import type { CacheBudget } from '../../shared/cache-budget.ts';
import type { Pace } from '../../shared/turn.ts';
import type { Page, PageFile, PageNumber } from '../../storage/page-store.ts';
import type { ViewSettings } from '../settings.ts';
import { decodeIndexRoots, INDEX_FORMAT_VERSION, type IndexHead, type IndexRoots } from './index-head.ts';
import type { IndexState } from './index-state.ts';

/** Pages dropped in one commit. */
const DROP_SLICE = 256;

export interface IndexFileParts {
  readonly snapshots: SnapshotRegister;
  readonly settings: ViewSettings;
  /** What its pages are kept in for reading, together with those of others. */
  readonly cache: CacheBudget;
  /** What a page may have at most. */
  readonly maxPageBytes: number;
}

/** What a head says beside where things are. */
export type IndexIdentity = Pick<IndexHead, 'signature' | 'collation' | 'uuid' | 'epoch'>;

/**
 * The pages of one index. A checkpoint stores a state's nodes in slices, then flips the head in one commit; pages that are
 * no longer in use are dropped afterwards, as soon as no reader needs them. Calls that write come one after another.
 */
export class IndexFile {
  readonly file: PageFile;
  readonly reader: NodeReader;
  readonly cache: PageCache;
  readonly #settings: ViewSettings;
  readonly #maxPageLength: number;
  readonly #allocator: PageAllocator;
  readonly #freeList: FreeList;
  /** Pages of the head itself: the roots, and the lists of free pages. */
  #headPages: PageNumber[] = [];
  /** Pages of a copy that is being made: whether they become part of the index is open. */
  #copied: PageNumber[] = [];
  readonly #pageMark: number;
  /** Failures to read a page that is not there. */
  readonly #misses = new WeakSet<DatabaseError>();
  #isDamaged = false;

  constructor(file: PageFile, head: IndexHead | undefined, parts: IndexFileParts) {
    const { snapshots, settings, cache } = parts;
    this.file = file;
    this.#maxPageLength = parts.maxPageBytes;
    this.#settings = settings;
    this.cache = new PageCache(cache);
    this.reader = createNodeReader(file, (error) => this.#misses.add(error));
    this.#pageMark = head?.pageMark ?? 0;
    this.#allocator = new PageAllocator(file.opening.epoch, this.#pageMark);
    this.#freeList = new FreeList(snapshots);
  }

  /** Reads where the trees begin, and takes over the free pages that are listed there. */
  async readRoots(head: IndexHead): Promise<IndexRoots> {
    const rootsPages = { page: head.rootsPage, pages: head.rootsPages ?? 1 };
    const roots = decodeIndexRoots(await this.reader.readNode(rootsPages.page, rootsPages.pages));
    this.#headPages = [...pageNumbers(rootsPages), ...roots.garbage];
    for (const page of roots.garbage) {
      this.#freeList.add(0, decodeFreeList(await this.reader.readNode(page, 1)));
    }
    return roots;
  }

  /** Takes over all pages as free ones, where there is no head that leads to any, or else those above its mark. */
  async takeOverLeftovers(): Promise<void> {
    for await (const numbers of this.file.pageNumbers(this.#pageMark)) this.#freeList.add(0, numbers);
  }

  /** Stores a state. `replaced`: nodes that it does not have any more. */
  async checkpoint(
    state: IndexState,
    identity: IndexIdentity,
    replaced: readonly ReplacedNode[],
    pace: Pace,
  ): Promise<void> {
    const byDocument = await this.storeTree(state.byDocument, pace);
    const trees: IndexRoots['trees'][number][] = [];
    for (const { rows, lastChange } of state.trees) {
      trees.push({ root: await this.storeTree(rows, pace), lastChange });
    }
    const freed = replaced.flatMap(pageNumbers);
    await this.#flip(state, identity, { byDocument, trees, firstPass: state.firstPass }, freed);
  }

  async #flip(
    { version, updateSeq, purgeSeq, seenSeq }: IndexState,
    identity: IndexIdentity,
    roots: Omit<IndexRoots, 'garbage'>,
    freed: readonly PageNumber[],
  ): Promise<void> {
    const gone = [...freed, ...this.#headPages];
    const lists = this.#freeList.toLists([...gone, ...this.#copied], this.#allocator, this.#maxPageLength);
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
      pageMark,
    };
    const rootsWrites = pieces.map((value, index) => ({ number: rootsPage + index, value }));
    await this.file.commit({
      durability: 'relaxed',
      head: JSON.stringify(head),
      writePages: [...lists, ...rootsWrites],
    });
    this.#headPages = [...rootsWrites.map(({ number }) => number), ...garbage];
    this.#freeList.add(version, gone);
  }

  /** Writes those nodes of a tree that are not stored yet, in slices. Gives its root. */
  storeTree<K, R>(tree: Tree<K, R>, pace: Pace): Promise<TreeRoot | null> {
    // What earlier checkpoints freed goes along, so that the file does not grow in a long build.
    return this.#storeTree(tree, pace, (pages) => this.#freeList.commit(this.file, pages, DROP_SLICE));
  }

  /** As `storeTree`, for a tree of a copy, beside all else that is written. Until `endCopy` its pages are listed as free. */
  async storeCopy<K, R>(tree: Tree<K, R>, pace: Pace): Promise<void> {
    await this.#storeTree(tree, pace, (pages) => this.#writeCopy(pages));
  }

  /** The copy is the index from now on; or it is given up, and all of its pages are free. */
  endCopy(isKept: boolean, version: number): void {
    if (!isKept) this.#freeList.add(version, this.#copied);
    this.#copied = [];
  }

  async #writeCopy(writePages: readonly Page[]): Promise<void> {
    for (const { number } of writePages) this.#copied.push(number);
    await this.file.commit({ durability: 'relaxed', writePages });
  }

  async #storeTree<K, R>(
    tree: Tree<K, R>,
    pace: Pace,
    write: (pages: readonly Page[]) => Promise<void>,
  ): Promise<TreeRoot | null> {
    const nodes = nodeWrites(tree, this.#allocator, this.#maxPageLength);
    for (;;) {
      const slice = gatherSlice(nodes, this.#settings.sliceBytes, () => pace.isDue);
      if (slice.pages.length > 0) await write(slice.pages);
      slice.stored();
      if (slice.result !== undefined) return slice.result;
      await pace.rest();
    }
  }

  /** To be told of what somebody failed with who had a right to the pages: a reader that was taken back has none. */
  noteFailure(error: unknown): void {
    if (error instanceof DatabaseError && this.#misses.has(error)) this.#isDamaged = true;
  }

  /** Whether a page was missed that should be there. */
  get isDamaged(): boolean {
    return this.#isDamaged;
  }

  get hasDroppable(): boolean {
    return this.#freeList.hasDroppable;
  }

  /** Gives the file back, and the room that its pages took. Nothing is stored before. */
  async close(): Promise<void> {
    this.cache.close();
    await this.file.close();
  }

  /** Drops what readers no longer hold. */
  async dropGarbage(): Promise<void> {
    while (this.#freeList.hasDroppable) await this.#freeList.commit(this.file, [], DROP_SLICE);
  }
}
