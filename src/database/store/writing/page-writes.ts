import type { Page, PageFile } from '../../../storage/page-store.ts';

interface PageWrite {
  readonly pages: readonly Page[];
  resolve(): void;
  reject(error: unknown): void;
}

/** Bytes that go into one commit: so long others wait at most. */
const COMMIT_BYTES = 2 * 2 ** 20;

/** Pages that have to get into the file before anything refers to them. They are written between the group commits, without the journal. */
export class PageWrites {
  #waiting: PageWrite[] = [];

  get hasWork(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when the pages are in the file. The queue has to be woken. */
  add(pages: readonly Page[]): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ pages, resolve, reject }));
  }

  /** One commit. Its failure is told to those whose pages were in it. */
  async step(file: PageFile): Promise<void> {
    const writes = this.#take();
    if (writes.length === 0) return;
    try {
      await file.commit({ durability: 'relaxed', writePages: writes.flatMap(({ pages }) => pages) });
      for (const { resolve } of writes) resolve();
    } catch (error) {
      for (const { reject } of writes) reject(error);
      throw error;
    }
  }

  /** Those that wait are told that no commit will come. */
  fail(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #take(): PageWrite[] {
    let [bytes, count] = [0, 0];
    for (const { pages } of this.#waiting) {
      if (count > 0 && bytes >= COMMIT_BYTES) break;
      for (const { value } of pages) bytes += value.length;
      count++;
    }
    return this.#waiting.splice(0, count);
  }
}
