import type { NodeReader, NodeWrite, ReplacedNode, TreeRoot } from '../../btree/contract.ts';
import { PageCache } from '../../btree/nodes/page-cache.ts';
import type { Tree } from '../../btree/tree.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { Garbage } from '../../paging/free-list.ts';
import { missingPageError } from '../../paging/missing-page.ts';
import { PageAllocator } from '../../paging/page-allocator.ts';
import type { SnapshotRegister } from '../../paging/snapshot-register.ts';
import type { CacheBudget } from '../../shared/cache-budget.ts';
import type { Pace } from '../../shared/turn.ts';
import type { Page, PageFile, PageNumber } from '../../storage/page-store.ts';
import type { ViewSettings } from '../settings.ts';
import { decodeIndexRoots, INDEX_FORMAT_VERSION, type IndexHead, type IndexRoots } from './index-head.ts';
import type { IndexState } from './index-state.ts';

/** Numbers in one page of a garbage list. */
const GARBAGE_LIST_LENGTH = 5_000;
/** Pages dropped in one commit. */
const DROP_SLICE = 256;

export interface IndexFileParts {
  readonly snapshots: SnapshotRegister;
  readonly settings: ViewSettings;
  /** What its pages are kept in for reading, together with those of others. */
  readonly cache: CacheBudget;
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
  readonly #allocator: PageAllocator;
  readonly #garbage: Garbage;
  /** Pages of the head itself: the roots, and lists of garbage. */
  #headPages: PageNumber[] = [];
  /** Pages of a copy that is being made: whether they become part of the index is open. */
  #copied: PageNumber[] = [];
  readonly #pageMark: number;
  /** Failures to read a page that is not there. */
  readonly #misses = new WeakSet<DatabaseError>();
  #isDamaged = false;

  constructor(file: PageFile, head: IndexHead | undefined, { snapshots, settings, cache }: IndexFileParts) {
    this.file = file;
    this.#settings = settings;
    this.cache = new PageCache(cache);
    this.reader = createNodeReader(file, (error) => this.#misses.add(error));
    this.#pageMark = head?.pageMark ?? 0;
    this.#allocator = new PageAllocator(file.opening.epoch, this.#pageMark);
    this.#garbage = new Garbage(snapshots);
  }

  /** Reads where the trees begin, and takes over the garbage that is listed there. */
  async readRoots(head: IndexHead): Promise<IndexRoots> {
    const roots = decodeIndexRoots(await this.reader.readNode(head.rootsPage));
    this.#headPages = [head.rootsPage, ...roots.garbage];
    for (const page of roots.garbage) {
      const listed = JSON.parse(await this.reader.readNode(page)) as PageNumber[];
      this.#garbage.add(0, listed);
    }
    return roots;
  }

  /** Takes over all pages as garbage, where there is no head that leads to any, or else what lies above its mark. */
  async takeOverLeftovers(): Promise<void> {
    for await (const numbers of this.file.pageNumbers(this.#pageMark)) this.#garbage.add(0, [...numbers]);
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
    const freed = replaced.flatMap(({ page }) => (page === undefined ? [] : [page]));
    await this.#flip(state, identity, { byDocument, trees, firstPass: state.firstPass }, freed);
  }

  async #flip(
    { version, updateSeq, purgeSeq, seenSeq }: IndexState,
    identity: IndexIdentity,
    roots: Omit<IndexRoots, 'garbage'>,
    freed: readonly PageNumber[],
  ): Promise<void> {
    const gone = [...freed, ...this.#headPages];
    const lists = this.#listGarbage([...this.#garbage.pages(), ...gone, ...this.#copied]);
    const garbage = lists.map((page) => page.number);
    const rootsPage = this.#allocator.allocate();
    const pageMark = this.#allocator.next;
    const head: IndexHead = {
      format: INDEX_FORMAT_VERSION,
      ...identity,
      updateSeq,
      purgeSeq,
      seenSeq,
      rootsPage,
      pageMark,
    };
    const text = JSON.stringify({ ...roots, garbage } satisfies IndexRoots);
    await this.file.commit({
      durability: 'relaxed',
      head: JSON.stringify(head),
      writePages: [...lists, { number: rootsPage, value: text }],
    });
    this.#headPages = [rootsPage, ...garbage];
    this.#garbage.add(version, gone);
  }

  #listGarbage(pages: readonly PageNumber[]): Page[] {
    const lists: Page[] = [];
    for (let from = 0; from < pages.length; from += GARBAGE_LIST_LENGTH) {
      const value = JSON.stringify(pages.slice(from, from + GARBAGE_LIST_LENGTH));
      lists.push({ number: this.#allocator.allocate(), value });
    }
    return lists;
  }

  /** Writes those nodes of a tree that are not stored yet, in slices. Gives its root. */
  storeTree<K, R>(tree: Tree<K, R>, pace: Pace): Promise<TreeRoot | null> {
    return this.#storeTree(tree, pace, (writes) => this.#write(writes));
  }

  /** As `storeTree`, for a tree of a copy, beside all else that is written. Until `endCopy` its pages are listed as garbage. */
  async storeCopy<K, R>(tree: Tree<K, R>, pace: Pace): Promise<void> {
    await this.#storeTree(tree, pace, (writes) => this.#writeCopy(writes));
  }

  /** The copy is the index from now on; or it is given up, and all of its pages are garbage. */
  endCopy(isKept: boolean, version: number): void {
    if (!isKept) this.#garbage.add(version, this.#copied);
    this.#copied = [];
  }

  async #writeCopy(writes: readonly NodeWrite[]): Promise<void> {
    if (writes.length === 0) return;
    const writePages = writes.map(({ page, text }) => ({ number: page, value: text }));
    for (const { page } of writes) this.#copied.push(page);
    await this.file.commit({ durability: 'relaxed', writePages });
    for (const write of writes) write.stored();
  }

  async #storeTree<K, R>(
    tree: Tree<K, R>,
    pace: Pace,
    write: (writes: readonly NodeWrite[]) => Promise<void>,
  ): Promise<TreeRoot | null> {
    const nodes = tree.unstored(() => this.#allocator.allocate());
    for (;;) {
      const writes: NodeWrite[] = [];
      let bytes = 0;
      let next = nodes.next();
      while (!next.done) {
        writes.push(next.value);
        bytes += next.value.text.length;
        if (bytes >= this.#settings.sliceBytes || pace.isDue) break;
        next = nodes.next();
      }
      await write(writes);
      if (next.done) return next.value ?? null;
      await pace.rest();
    }
  }

  async #write(writes: readonly NodeWrite[]): Promise<void> {
    if (writes.length === 0) return;
    const writePages = writes.map(({ page, text }) => ({ number: page, value: text }));
    // What earlier checkpoints freed goes along, so that the file does not grow in a long build.
    await this.#garbage.dropIn(DROP_SLICE, (dropPages) =>
      this.file.commit({ durability: 'relaxed', writePages, dropPages }),
    );
    for (const write of writes) write.stored();
  }

  async #dropSome(): Promise<void> {
    await this.#garbage.dropIn(DROP_SLICE, async (dropPages) => {
      if (dropPages.length > 0) await this.file.commit({ durability: 'relaxed', dropPages });
    });
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
    return this.#garbage.hasDroppable;
  }

  /** Gives the file back, and the room that its pages took. Nothing is stored before. */
  async close(): Promise<void> {
    this.cache.close();
    await this.file.close();
  }

  /** Drops what readers no longer hold. */
  async dropGarbage(): Promise<void> {
    while (this.#garbage.hasDroppable) await this.#dropSome();
  }
}

function createNodeReader(file: PageFile, onMissing: (error: DatabaseError) => void): NodeReader {
  const fail = async (page: number): Promise<never> => {
    const error = await missingPageError(file, page);
    if (error.code === 'storage_corrupt') onMissing(error);
    throw error;
  };
  return {
    readNode(page) {
      const read = file.read(page, 'text');
      if (read instanceof Promise) return read.then((text) => text ?? fail(page));
      return read ?? fail(page);
    },
  };
}
