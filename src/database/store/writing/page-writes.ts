import type { Page, PageFile } from '../../../storage/page-store.ts';

interface PageWrite {
  readonly pages: readonly Page[];
  resolve(): void;
  reject(error: unknown): void;
}

/** Bytes of one commit: others wait at most as long as these take. */
const COMMIT_BYTES = 2 * 2 ** 20;

/** Pages that must be in the file before anything refers to them. They are written between the group commits, without the journal. */
export class PageWrites {
  #waiting: PageWrite[] = [];

  get hasWork(): boolean {
    return this.#waiting.length > 0;
  }

  /** Resolves when the pages are in the file. The caller must wake the queue. */
  add(pages: readonly Page[]): Promise<void> {
    return new Promise((resolve, reject) => this.#waiting.push({ pages, resolve, reject }));
  }

  /** Does one commit. If it fails, the callers whose pages were in it get the failure. */
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

  /** Rejects the waiting callers: no commit will come. */
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
