import type { DocId } from '../../documents/contract.ts';
import { missingPageError } from '../../paging/missing-page.ts';
import type { PageAllocator } from '../../paging/page-allocator.ts';
import type { PageCache } from '../../paging/page-cache.ts';
import { assert, must } from '../../shared/assert.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import type { Page, PageFile } from '../../storage/page-store.ts';
import type { BodyLocation } from '../contract.ts';
import { EMPTY_BODY } from '../state/entry.ts';
import { BodyPage, decodeText, encodeListing, listingBytes, listingOf } from './body-page.ts';
import { TextArena } from './text-arena.ts';

/** Pages that are remembered as read from: so few that in a large database hardly one comes up by chance. */
const READ_LATELY = 256;

export interface BodyStoreOptions {
  readonly file: PageFile;
  readonly cache: PageCache;
  readonly allocator: PageAllocator;
  readonly pageBytes: number;
  readonly maxPageBytes: number;
}

/**
 * Bodies of documents: where new ones go, and how stored ones are read. Bodies that came in small commits stay in
 * memory (and in the journal) until a checkpoint stores their page; larger commits bring their pages along.
 */
export class BodyStore {
  /** Where new bodies are encoded. */
  readonly arena = new TextArena();
  readonly options: BodyStoreOptions;
  /** Pages that are not stored yet, by number. */
  #unstored = new Map<number, BodyPage>();
  #open: BodyPage | undefined;
  /** Pages that single bodies were read from without keeping the page. */
  readonly #readLately = new Set<number>();

  constructor(options: BodyStoreOptions) {
    this.options = options;
  }

  get pageBytes(): number {
    return this.options.pageBytes;
  }

  /** Whether a body of this size gets pages of its own, which are written with its commit and never journalled. */
  isLarge(bytes: number): boolean {
    return bytes > this.options.pageBytes;
  }

  /** Adds a body to the page that waits for the next checkpoint. */
  append(id: DocId, body: Uint8Array): BodyLocation {
    assert(!this.isLarge(body.length), () => `a body of ${body.length} bytes needs pages of its own`);
    if (this.#open !== undefined && this.#isFull(this.#open, id, body.length)) this.#open = undefined;
    if (this.#open === undefined) {
      this.#open = new BodyPage(this.options.allocator.allocate());
      this.#unstored.set(this.#open.number, this.#open);
    }
    return this.#open.append(id, body);
  }

  /** Whether a further body would make the page's stored form longer than what the backend stores without waste. */
  #isFull(page: BodyPage, id: DocId, bytes: number): boolean {
    return page.storedBytes + listingBytes(id) + bytes > this.options.pageBytes;
  }

  /** Packs bodies into pages of their own, in the given order. The pages must be part of the same commit. */
  pack(bodies: readonly { readonly id: DocId; readonly bytes: Uint8Array }[]): PackedBodies {
    const locations: BodyLocation[] = [];
    const pages: Page[] = [];
    let page: BodyPage | undefined;
    const close = () => {
      if (page !== undefined) pages.push({ number: page.number, value: page.encode() });
      page = undefined;
    };
    for (const { id, bytes } of bodies) {
      if (this.isLarge(bytes.length)) {
        const large = this.#packLarge(id, bytes);
        locations.push(large.location);
        pages.push(...large.pages);
        continue;
      }
      if (page !== undefined && this.#isFull(page, id, bytes.length)) close();
      page ??= new BodyPage(this.options.allocator.allocate());
      locations.push(page.append(id, bytes));
    }
    close();
    return { locations, pages };
  }

  /** Chunks of the body, then a page of its own for the listing. */
  #packLarge(id: DocId, bytes: Uint8Array): { location: BodyLocation; pages: Page[] } {
    const { allocator, maxPageBytes } = this.options;
    const chunks = this.#chunkCount(bytes.length);
    const first = allocator.allocate(chunks + 1);
    const pages: Page[] = Array.from({ length: chunks }, (_unused, index) => ({
      number: first + index,
      value: bytes.slice(index * maxPageBytes, (index + 1) * maxPageBytes),
    }));
    pages.push({ number: first + chunks, value: encodeListing([id]) });
    return { location: { page: first, offset: 0, length: bytes.length }, pages };
  }

  #chunkCount(bodyBytes: number): number {
    return Math.ceil(bodyBytes / this.options.maxPageBytes);
  }

  /** Numbers of all pages that belong to the body page `page`: itself, or what a large body is spread over. */
  pagesOf(page: number, totalBytes: number): number[] {
    const count = this.isLarge(totalBytes) ? this.#chunkCount(totalBytes) + 1 : 1;
    return Array.from({ length: count }, (_unused, index) => page + index);
  }

  /** The body's text. */
  read(location: BodyLocation): MaybePromise<string> {
    return this.readAtOnce(location) ?? this.readWithPage(location);
  }

  /** The body's text where nothing has to be waited for. A page that was read from lately is worth its place in the cache as a whole. */
  readAtOnce(location: BodyLocation): string | undefined {
    const { page, offset, length } = location;
    const { file } = this.options;
    const now = this.readNow(location);
    if (now !== undefined || !file.readRange || this.isLarge(length) || this.#readLately.has(page)) return now;
    if (this.#readLately.size >= READ_LATELY) this.#readLately.clear();
    this.#readLately.add(page);
    const bytes = file.readRange(page, offset, length);
    return bytes && decodeText(bytes);
  }

  async #fail(page: number): Promise<never> {
    throw await missingPageError(this.options.file, page);
  }

  /** As `read`, for one of many: the page is kept for its neighbours. */
  async readWithPage(location: BodyLocation): Promise<string> {
    if (this.isLarge(location.length)) return decodeText(await this.#readLarge(location));
    return decodeText(cut(await this.#readPage(location.page), location));
  }

  async readBytes(location: BodyLocation): Promise<Uint8Array> {
    const unstored = this.#unstored.get(location.page);
    if (unstored !== undefined) return must(unstored.read(location));
    if (this.isLarge(location.length)) return this.#readLarge(location);
    return cut(await this.#readPage(location.page), location).slice();
  }

  /** The body's text where it is in memory. */
  readNow(location: BodyLocation): string | undefined {
    if (location.page === 0) return EMPTY_BODY;
    const unstored = this.#unstored.get(location.page);
    if (unstored !== undefined) return decodeText(must(unstored.read(location)));
    const cached = this.options.cache.get(location.page);
    return cached instanceof Uint8Array ? decodeText(cut(cached, location)) : undefined;
  }

  async #readLarge(location: BodyLocation): Promise<Uint8Array> {
    const bytes = new Uint8Array(location.length);
    let filled = 0;
    for (let page = location.page; filled < bytes.length; page++) {
      const chunk = await this.#loadPage(page);
      const piece = chunk.subarray(0, bytes.length - filled);
      bytes.set(piece, filled);
      filled += piece.length;
    }
    return bytes;
  }

  /** The documents whose bodies a page holds. For a large body, `page` is the first of its pages. */
  async listing(page: number, totalBytes: number): Promise<readonly DocId[]> {
    const unstored = this.#unstored.get(page);
    if (unstored !== undefined) return unstored.ids;
    if (!this.isLarge(totalBytes)) return listingOf(await this.#readPage(page), page);
    const listingPage = page + this.#chunkCount(totalBytes);
    return listingOf(await this.#loadPage(listingPage), listingPage);
  }

  async #readPage(page: number): Promise<Uint8Array> {
    const cached = this.options.cache.get(page);
    if (cached instanceof Uint8Array) return cached;
    const value = await this.#loadPage(page);
    this.options.cache.set(page, value, value.length, 'body');
    return value;
  }

  async #loadPage(page: number): Promise<Uint8Array> {
    const read = this.options.file.read(page, 'bytes');
    const value = read instanceof Promise ? await read : read;
    return value ?? this.#fail(page);
  }

  /** The pages that wait for a checkpoint. From now on new bodies go to another page. */
  seal(): BodyPage[] {
    this.#open = undefined;
    return [...this.#unstored.values()];
  }

  /** Forgets pages that a checkpoint has stored; they are read from the file from now on. */
  stored(pages: readonly BodyPage[]): void {
    for (const page of pages) this.#unstored.delete(page.number);
  }

  /** A point to which `rollback` can return, when the commit that bodies were added for fails. */
  mark(): BodyMark {
    return { open: this.#open, count: this.#open?.count ?? 0, pages: new Set(this.#unstored.keys()) };
  }

  rollback(mark: BodyMark): void {
    for (const page of [...this.#unstored.keys()]) if (!mark.pages.has(page)) this.#unstored.delete(page);
    mark.open?.truncate(mark.count);
    this.#open = mark.open;
  }

  isUnstored(page: number): boolean {
    return this.#unstored.has(page);
  }

  get unstoredPages(): number[] {
    return [...this.#unstored.keys()];
  }

  get unstoredCount(): number {
    return this.#unstored.size;
  }

  get unstoredBytes(): number {
    let bytes = 0;
    for (const page of this.#unstored.values()) bytes += page.bytes;
    return bytes;
  }
}

export interface BodyMark {
  readonly open: BodyPage | undefined;
  readonly count: number;
  readonly pages: ReadonlySet<number>;
}

export interface PackedBodies {
  readonly locations: readonly BodyLocation[];
  readonly pages: readonly Page[];
}

function cut(page: Uint8Array, location: BodyLocation): Uint8Array {
  return page.subarray(location.offset, location.offset + location.length);
}
