import type { PageNumber } from '../../../storage/page-store.ts';

/**
 * Pages that are in the file, or soon will be, while no state refers to them: those of uploads that no document has adopted yet, and those of
 * attachments that were removed while they are still being read. Each head lists them as free (`Checkpointer`), so that none leaks if the process
 * ends; a journal record that names a page takes it off that list again.
 */
export class DetachedPages {
  readonly #uploads = new Set<readonly PageNumber[]>();
  /** The number of readers of an attachment, by its first page. */
  readonly #readers = new Map<PageNumber, number>();
  /** Attachments that were removed while they were read, by the first page. */
  readonly #removed = new Map<PageNumber, readonly PageNumber[]>();
  readonly #onFree: (pages: readonly PageNumber[]) => void;

  /** `onFree` receives pages of attachments that were removed, and that no one reads any longer. */
  constructor(onFree: (pages: readonly PageNumber[]) => void) {
    this.#onFree = onFree;
  }

  /** All pages of this kind. */
  all(): PageNumber[] {
    return [...this.#uploads, ...this.#removed.values()].flat();
  }

  get isEmpty(): boolean {
    return this.#uploads.size === 0 && this.#removed.size === 0;
  }

  /** The pages of an upload; the list may still grow. */
  addUpload(pages: readonly PageNumber[]): void {
    this.#uploads.add(pages);
  }

  /** Must be called in the turn in which the state that refers to the pages is published. */
  adopted(pages: readonly PageNumber[]): void {
    this.#uploads.delete(pages);
  }

  /** Notes that no document will refer to the upload. Returns its pages, unless it was adopted or discarded before. */
  discard(pages: readonly PageNumber[]): readonly PageNumber[] {
    return this.#uploads.delete(pages) ? pages : [];
  }

  /** Keeps an attachment's pages while they are read. Returns the function that ends that. */
  lease(first: PageNumber): () => void {
    this.#readers.set(first, (this.#readers.get(first) ?? 0) + 1);
    let isOver = false;
    return () => {
      if (!isOver) this.#endLease(first);
      isOver = true;
    };
  }

  #endLease(first: PageNumber): void {
    const readers = (this.#readers.get(first) ?? 0) - 1;
    if (readers > 0) {
      this.#readers.set(first, readers);
      return;
    }
    this.#readers.delete(first);
    const removed = this.#removed.get(first);
    this.#removed.delete(first);
    if (removed !== undefined) this.#onFree(removed);
  }

  /** Notes that no state refers to the attachment any longer. Returns its pages, unless someone still reads them. */
  remove(pages: readonly PageNumber[]): readonly PageNumber[] {
    const [first] = pages;
    if (first === undefined || !this.#readers.has(first)) return pages;
    this.#removed.set(first, pages);
    return [];
  }
}
