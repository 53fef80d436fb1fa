import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { PageFile } from '../../../storage/page-store.ts';
import { missingPageError } from '../../../storage/paging/page-errors.ts';
import type { AttachmentReader, StoredBytes } from '../contract.ts';
import { pagesOfRuns } from '../state/attachments-tree.ts';

/** Pages that are requested before they are needed, from storage that responds asynchronously. */
const READ_AHEAD = 3;

/** Reads an attachment from its pages; holds a few of them at most. */
export class PageAttachment implements AttachmentReader {
  readonly stored: StoredBytes;
  readonly #file: PageFile;
  readonly #release: () => void;

  /** `release` is called to end the lease that keeps the pages in the file. */
  constructor(stored: StoredBytes, file: PageFile, release: () => void) {
    this.stored = stored;
    this.#file = file;
    this.#release = release;
  }

  async *read(from: number, to: number): AsyncGenerator<Uint8Array> {
    const { pageBytes } = this.stored;
    const pages = pagesOfRuns(this.stored.pages);
    const behind = from < to ? Math.ceil(to / pageBytes) : 0;
    const ahead: Promise<Uint8Array | undefined>[] = [];
    for (let index = Math.floor(from / pageBytes); index < behind; index++) {
      const read = ahead.shift() ?? this.#read(pages[index]);
      // Storage that responds in the same turn needs no reading ahead.
      while (read instanceof Promise && ahead.length < READ_AHEAD && index + ahead.length + 1 < behind) {
        const next = Promise.resolve(this.#read(pages[index + ahead.length + 1]));
        // If the reader stops, no one handles a failure.
        next.catch(() => undefined);
        ahead.push(next);
      }
      const bytes = read instanceof Promise ? await read : read;
      const start = Math.max(from - index * pageBytes, 0);
      const end = Math.min(to - index * pageBytes, pageBytes);
      const part = bytes?.subarray(start, end);
      if (part?.length !== end - start) throw await missingPageError(this.#file, pages[index] ?? -1);
      yield part;
    }
  }

  #read(page = -1): MaybePromise<Uint8Array | undefined> {
    return this.#file.read(page, 'bytes');
  }

  release(): void {
    this.#release();
  }
}
