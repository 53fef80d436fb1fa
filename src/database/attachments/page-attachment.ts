import { missingPageError } from '../../paging/page-errors.ts';
import type { PageFile } from '../../storage/page-store.ts';
import type { AttachmentReader, StoredBytes } from '../contract.ts';
import { pagesOfRuns } from '../state/attachments-tree.ts';

/** Reads an attachment from its pages, one at a time: nothing of it stays in memory. */
export class PageAttachment implements AttachmentReader {
  readonly stored: StoredBytes;
  readonly #file: PageFile;
  readonly #release: () => void;

  /** `release` ends what keeps the pages in the file. */
  constructor(stored: StoredBytes, file: PageFile, release: () => void) {
    this.stored = stored;
    this.#file = file;
    this.#release = release;
  }

  async *read(from: number, to: number): AsyncGenerator<Uint8Array> {
    const { pageBytes, pages } = this.stored;
    const numbers = pagesOfRuns(pages);
    for (let at = from; at < to; ) {
      const index = Math.floor(at / pageBytes);
      const page = numbers[index] ?? -1;
      const read = this.#file.read(page, 'bytes');
      const bytes = read instanceof Promise ? await read : read;
      if (bytes === undefined) throw await missingPageError(this.#file, page);
      const start = at - index * pageBytes;
      const part = bytes.subarray(start, start + to - at);
      if (part.length === 0) throw await missingPageError(this.#file, page);
      yield part;
      at += part.length;
    }
  }

  release(): void {
    this.#release();
  }
}
