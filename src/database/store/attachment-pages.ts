import { assert, must } from '../../base/shared/assert.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Page, PageFile, PageNumber } from '../../storage/page-store.ts';
import type { PageAllocator } from '../../storage/paging/page-allocator.ts';
import { missingPageError } from '../../storage/paging/page-errors.ts';
import { beginMd5, type Md5Stream } from '../documents/md5.ts';
import type { AttachmentReader, AttachmentUpload, FinishedUpload, StoredBytes } from './contract.ts';
import { pagesOfRuns, toRuns } from './state/attachments-tree.ts';
import type { DetachedPages } from './state/detached-pages.ts';

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

/** Bytes in a page: few enough to read a small part of a large attachment at once, enough that the overhead of a page stays small. */
const ATTACHMENT_PAGE_BYTES = 256 * 1024;
/** Pages that are written together. */
const PAGES_PER_WRITE = 4;

interface PageUploadOptions {
  readonly file: PageFile;
  readonly allocator: PageAllocator;
  readonly detached: DetachedPages;
  /** Maximum bytes of a page. */
  readonly maxPageBytes: number;
  /** Resolves when the pages are in the file. */
  writePages(pages: readonly Page[]): Promise<void>;
  /** Frees pages that no state has ever referred to. */
  dropPages(pages: readonly PageNumber[]): void;
}

/** Stores the bytes of one attachment while they arrive. Holds one megabyte of them at most. */
export class PageUpload implements AttachmentUpload {
  readonly #options: PageUploadOptions;
  readonly #md5: Md5Stream;
  readonly #pageBytes: number;
  readonly #numbers: PageNumber[] = [];
  readonly #full: Page[] = [];
  /** Grows with the first page's content; small attachments take no more memory than their length. */
  #page = new Uint8Array(0);
  #filled = 0;
  #length = 0;
  #finished: Promise<FinishedUpload> | undefined;
  #isDiscarded = false;

  static async begin(options: PageUploadOptions): Promise<PageUpload> {
    return new PageUpload(options, await beginMd5());
  }

  private constructor(options: PageUploadOptions, md5: Md5Stream) {
    this.#options = options;
    this.#md5 = md5;
    this.#pageBytes = Math.min(ATTACHMENT_PAGE_BYTES, options.maxPageBytes);
    options.detached.addUpload(this.#numbers);
  }

  async write(bytes: Uint8Array): Promise<void> {
    assert(this.#finished === undefined, 'bytes behind the end of an upload');
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + this.#pageBytes - this.#filled);
      this.#md5.update(part);
      this.#makeRoom(this.#filled + part.length);
      this.#page.set(part, this.#filled);
      this.#filled += part.length;
      this.#length += part.length;
      at += part.length;
      if (this.#filled === this.#pageBytes) this.#endPage();
      if (this.#full.length >= PAGES_PER_WRITE) await this.#writeFull();
    }
  }

  finish(plain?: { readonly length: number; readonly digest: string | undefined }): Promise<FinishedUpload> {
    this.#finished ??= this.#finish(plain);
    return this.#finished;
  }

  async read(): Promise<AttachmentReader> {
    const { stored } = await must(this.#finished, 'an upload that is read is finished');
    return new PageAttachment(stored, this.#options.file, () => undefined);
  }

  discard(): void {
    if (this.#isDiscarded) return;
    this.#isDiscarded = true;
    this.#options.dropPages(this.#options.detached.discard(this.#numbers));
  }

  async #finish(
    plain: { readonly length: number; readonly digest: string | undefined } | undefined,
  ): Promise<FinishedUpload> {
    assert(plain?.length !== this.#length, 'encoded bytes are not as long as the plain ones (AttachmentBytes)');
    if (this.#filled > 0) this.#endPage();
    if (this.#full.length > 0) await this.#writeFull();
    const stored = {
      digest: this.#md5.digest(),
      storedLength: this.#length,
      length: plain?.length ?? this.#length,
      encoding: plain === undefined ? undefined : ('gzip' as const),
      plainDigest: plain?.digest,
      pageBytes: this.#pageBytes,
      pages: toRuns(this.#numbers),
    };
    return { stored, pages: this.#numbers };
  }

  #endPage(): void {
    const number = this.#options.allocator.allocate();
    this.#numbers.push(number);
    this.#full.push({ number, value: this.#page.subarray(0, this.#filled) });
    this.#page = new Uint8Array(0);
    this.#filled = 0;
  }

  #makeRoom(bytes: number): void {
    if (bytes <= this.#page.length) return;
    const isFirst = this.#numbers.length === 0;
    const size = isFirst ? Math.min(this.#pageBytes, Math.max(bytes, 2 * this.#page.length)) : this.#pageBytes;
    const page = new Uint8Array(size);
    page.set(this.#page.subarray(0, this.#filled));
    this.#page = page;
  }

  async #writeFull(): Promise<void> {
    await this.#options.writePages(this.#full.splice(0));
  }
}
