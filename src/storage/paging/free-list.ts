/** Pages that wait until no snapshot needs them, and how they are stored. */
import { must } from '../../base/shared/assert.ts';
import type { Commit, Page, PageFile, PageNumber } from '../page-store.ts';
import type { PageAllocator } from './page-allocator.ts';
import type { SnapshotRegister } from './snapshot-register.ts';

/** Maximum number of page numbers in one page of a stored list. Lists of any length can be read. */
const LIST_LENGTH = 20_000;
/** The most characters that a page number and a comma take. */
const NUMBER_LENGTH = 17;

interface FreedPages {
  /** The first state that does not refer to the pages. */
  readonly version: number;
  readonly pages: PageNumber[];
}

/**
 * Pages that are in a file but no longer part of what it holds. They are dropped as soon as no snapshot can reach them.
 * Since a crash must leak none of them, each head names pages with lists of all free pages: a list is a JSON array of
 * page numbers.
 */
export class FreeList {
  readonly #snapshots: SnapshotRegister;
  /** Oldest first. */
  readonly #freed: FreedPages[] = [];

  constructor(snapshots: SnapshotRegister) {
    this.#snapshots = snapshots;
  }

  /**
   * Adds pages that no state from `version` on refers to. The last of them are dropped first.
   *
   * @param file no head of which leads to them any more: they are kept until its followers have passed. Default: no one follows it.
   */
  add(version: number, pages: readonly PageNumber[], file?: Pick<PageFile, 'whenFollowersPass'>): void {
    if (pages.length === 0) return;
    this.#freed.push({ version, pages: [...pages] });
    const passed = file?.whenFollowersPass?.();
    if (passed === undefined) return;
    const ticket = this.#snapshots.take(version - 1, Number.POSITIVE_INFINITY);
    const release = (): void => ticket.release();
    passed.then(release, release);
  }

  get hasDroppable(): boolean {
    const [oldest] = this.#freed;
    return oldest !== undefined && this.#snapshots.oldestVersion >= oldest.version;
  }

  /** Returns all free pages, including those that a snapshot can still reach. */
  pages(): PageNumber[] {
    return this.#freed.flatMap(({ pages }) => pages);
  }

  /**
   * Returns lists of all free pages and of `further` ones, as pages that have to be written together with the head that names
   * them. They become part of the file with that head, and free with the next. `maxLength`: of a page.
   */
  toLists(further: readonly PageNumber[], allocator: PageAllocator, maxLength: number): Page[] {
    const all = [...this.pages(), ...further];
    const lists: Page[] = [];
    const length = Math.min(LIST_LENGTH, Math.floor((maxLength - 1) / NUMBER_LENGTH));
    for (let from = 0; from < all.length; from += length) {
      lists.push({ number: allocator.allocate(), value: JSON.stringify(all.slice(from, from + length)) });
    }
    return lists;
  }

  /**
   * Makes one commit that writes `pages` and drops up to `limit` free ones that no snapshot can reach; none if there are
   * neither. If it fails, all of them stay free.
   *
   * @param reserve see `Commit`.
   */
  async commit(file: PageFile, pages: readonly Page[], limit: number, reserve?: Commit['reserve']): Promise<void> {
    const dropPages = this.#droppable(limit);
    if (pages.length + dropPages.length === 0) return;
    const writePages = pages.length === 0 ? {} : { writePages: pages };
    await file.commit({ durability: 'relaxed', ...writePages, dropPages, reserve });
    this.#forget(dropPages.length);
  }

  #droppable(limit: number): PageNumber[] {
    const { oldestVersion } = this.#snapshots;
    const droppable: PageNumber[] = [];
    for (const { version, pages } of this.#freed) {
      if (version > oldestVersion || droppable.length >= limit) break;
      for (const page of pages.slice(droppable.length - limit)) droppable.push(page);
    }
    return droppable;
  }

  /** Removes the first `count` of what `#droppable` returns. */
  #forget(count: number): void {
    let rest = count;
    let emptied = 0;
    while (rest > 0) {
      const oldest = must(this.#freed[emptied]);
      const forgotten = Math.min(rest, oldest.pages.length);
      oldest.pages.length -= forgotten;
      rest -= forgotten;
      if (oldest.pages.length === 0) emptied++;
    }
    // At once: thousands of uploads may have been given up, and each shift would move all remaining ones.
    this.#freed.splice(0, emptied);
  }
}

/** Returns the page numbers in a list that `FreeList.toLists` made. */
export function decodeFreeList(text: string): PageNumber[] {
  return JSON.parse(text) as PageNumber[];
}
