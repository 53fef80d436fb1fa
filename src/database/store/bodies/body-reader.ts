import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import type { Crc32 } from '../../../base/shared/crc32.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { TimeSlice } from '../../../base/shared/turn.ts';
import type { PageFile, PageNumber } from '../../../storage/page-store.ts';
import type { PageCache } from '../../../storage/paging/page-cache.ts';
import { damagedBodyError, missingPageError } from '../../../storage/paging/page-errors.ts';
import type { DocId } from '../../documents/contract.ts';
import type { BodyLocation } from '../contract.ts';
import { EMPTY_BODY } from './body-location.ts';
import { type BodyPage, decodeText, listingOf, mostLoneListingBytes } from './body-page.ts';

/** The number of pages that are remembered as recently read: so few that in a large database a page is rarely met again by chance. */
const READ_LATELY = 256;

/** The smallest share of a page that must be wanted for the page to be read, copied and checked as a whole. */
const WORTH_WHOLE = 1 / 8;

/** Bytes of a large body per piece of its text: a chunk of a response. With four times as much, hundreds of slow readers hold twice the memory. */
const PIECE_BYTES = 65_536;

interface BodyFile extends PageFile {
  /** Reads a page whose checksum may be wrong. Without this method the documents of a damaged page can't be read, whatever is damaged. */
  readDamaged?(page: PageNumber): MaybePromise<Uint8Array | undefined>;
}

export interface BodyReaderOptions {
  readonly file: BodyFile;
  readonly cache: PageCache;
  readonly crc32: Crc32;
  /** The target size of a body page. */
  readonly pageBytes: number;
  readonly maxPageBytes: number;
}

/** Reads bodies of documents: from pages that are not stored yet, from the cache, or from the file. */
export class BodyReader {
  readonly options: BodyReaderOptions;
  readonly #unstored: ReadonlyMap<number, BodyPage>;
  /** Pages from which single bodies were recently read without keeping the page. */
  readonly #readLately = new Set<number>();
  /** Bodies that are being read ahead without their pages. */
  readonly #ahead = new WeakMap<BodyLocation, Promise<string | undefined>>();

  /** `unstored`: pages that are only in memory, by number. A reader of what another process writes has none. */
  constructor(options: BodyReaderOptions, unstored: ReadonlyMap<number, BodyPage> = new Map()) {
    this.options = options;
    this.#unstored = unstored;
  }

  /** Whether a body of this size gets its own pages, which are written with its commit and never journalled. */
  isLarge(bytes: number): boolean {
    return bytes > this.options.pageBytes;
  }

  /**
   * Whether pages list the documents of this id. Ids that are longer than those accepted today would make a listing
   * that no page holds. A page with the body of such a document is not repacked.
   */
  isListed(id: DocId): boolean {
    const { pageBytes, maxPageBytes } = this.options;
    return pageBytes + mostLoneListingBytes(id) <= maxPageBytes;
  }

  /** Returns the number of pages into which a large body is split. */
  chunkCount(bodyBytes: number): number {
    return Math.ceil(bodyBytes / this.options.maxPageBytes);
  }

  /** Returns the numbers of all pages that belong to the body page `page`: itself, or the pages of a large body. */
  pagesOf(page: number, totalBytes: number): number[] {
    const count = this.isLarge(totalBytes) ? this.chunkCount(totalBytes) + 1 : 1;
    return Array.from({ length: count }, (_unused, index) => page + index);
  }

  /** Returns the body's text. */
  read(location: BodyLocation): MaybePromise<string> {
    const known = this.readInMemory(location);
    if (known !== undefined) return known;
    return this.#orWithPage(location, this.#isFirstOfPage(location) ? this.#readAlone(location) : undefined);
  }

  /**
   * Returns the body's text if it is available without waiting. A body is read alone, without its page, unless another one of the
   * page was read recently: then the whole page deserves its place in the cache, and this returns undefined.
   */
  readAtOnce(location: BodyLocation): string | undefined {
    const known = this.readInMemory(location);
    if (known !== undefined || this.waitsForReads || !this.#isFirstOfPage(location)) return known;
    const alone = this.#readAlone(location);
    return typeof alone === 'string' ? alone : undefined;
  }

  /** Whether each read costs the storage a round trip. */
  get waitsForReads(): boolean {
    return this.options.file.readAhead !== undefined;
  }

  /** Whether no body of that page was read recently. From now on, one was. */
  #isFirstOfPage({ page }: BodyLocation): boolean {
    if (this.#readLately.has(page)) return false;
    if (this.#readLately.size >= READ_LATELY) this.#readLately.clear();
    this.#readLately.add(page);
    return true;
  }

  #orWithPage(location: BodyLocation, alone: MaybePromise<string | undefined>): MaybePromise<string> {
    if (!(alone instanceof Promise)) return alone ?? this.readWithPage(location);
    return alone.then((text) => text ?? this.readWithPage(location));
  }

  /** Undefined if the storage can't, or if the page is not there. */
  #readAlone(location: BodyLocation): MaybePromise<string | undefined> {
    const { page, offset, length } = location;
    const { file } = this.options;
    const read = this.isLarge(length) ? undefined : file.readRange?.(page, offset, length);
    if (read instanceof Promise) return read.then((bytes) => bytes && decodeText(this.#checked(location, bytes)));
    return read && decodeText(this.#checked(location, read));
  }

  /** Returns the bytes, checked: the checksum of the page does not cover a body that is read without the page. */
  #checked({ page, length, checksum }: BodyLocation, bytes: Uint8Array): Uint8Array {
    const { file, crc32 } = this.options;
    const isSound = bytes.length === length && (checksum === undefined || crc32(bytes) === checksum);
    if (!isSound) throw damagedBodyError(file.name, page);
    return bytes;
  }

  async #fail(page: number): Promise<never> {
    throw await missingPageError(this.options.file, page);
  }

  /**
   * Like `read`, for one of many wanted bodies, in the order of their locations. A page of which little is wanted is not read as a whole: if
   * documents were not written in the order of their ids, each one is in another page.
   */
  readOneOf(locations: readonly BodyLocation[], at: number): MaybePromise<string> {
    const location = must(locations[at]);
    if (location.checksum === undefined || this.#isWholeWanted(locations, at)) return this.readWithPage(location);
    const ahead = this.#ahead.get(location);
    if (ahead !== undefined) {
      this.#ahead.delete(location);
      return this.#orWithPage(location, ahead);
    }
    if (locations[at - 1]?.page !== location.page) return this.read(location);
    // The read before it marked the page as recently read, for later readers.
    return this.readInMemory(location) ?? this.#orWithPage(location, this.#readAlone(location));
  }

  /**
   * Says that the bodies from place `from` up to `to` will be read next by `readOneOf`, for storage where it takes less time to read them, or their
   * pages, together.
   */
  readAhead(locations: readonly BodyLocation[], from: number, to: number): void {
    const { file } = this.options;
    if (file.readAhead === undefined) return;
    const pages = new Set<number>();
    for (let at = from; at < Math.min(to, locations.length); at++) {
      const location = must(locations[at]);
      if (this.#isAtHand(location)) continue;
      const isAlone = location.checksum !== undefined && file.readRange !== undefined;
      if (isAlone && !this.#isWholeWanted(locations, at)) this.#beginAlone(location);
      else pages.add(location.page);
    }
    if (pages.size > 0) file.readAhead([...pages]);
  }

  /** Says which body pages, with bodies of that many bytes, will be read next as a whole. */
  readPagesAhead(pages: readonly { readonly page: number; readonly total: number }[]): void {
    const wanted = pages.filter(({ page, total }) => !this.#isAtHand({ page, length: total }));
    if (wanted.length > 1) this.options.file.readAhead?.(wanted.map(({ page }) => page));
  }

  /** Whether nothing is gained by reading it ahead. */
  #isAtHand({ page, length }: Pick<BodyLocation, 'page' | 'length'>): boolean {
    const { cache } = this.options;
    return page === 0 || this.isLarge(length) || this.#unstored.has(page) || cache.get(page) !== undefined;
  }

  #beginAlone(location: BodyLocation): void {
    if (this.#ahead.has(location)) return;
    const read = this.#readAlone(location);
    if (!(read instanceof Promise)) return;
    // If the reader stops, no one handles a failure.
    read.catch(() => undefined);
    this.#ahead.set(location, read);
  }

  /** Whether enough of the page of that location is wanted. */
  #isWholeWanted(locations: readonly BodyLocation[], at: number): boolean {
    const { page, length } = must(locations[at]);
    const enough = this.options.pageBytes * WORTH_WHOLE;
    let bytes = length;
    for (let next = at + 1; bytes < enough && locations[next]?.page === page; next++)
      bytes += must(locations[next]).length;
    for (let next = at - 1; bytes < enough && locations[next]?.page === page; next--)
      bytes += must(locations[next]).length;
    return bytes >= enough;
  }

  /** Returns the body's text, and keeps the page in the cache for its neighbours. */
  async readWithPage(location: BodyLocation): Promise<string> {
    if (this.isLarge(location.length)) return this.#readLongText(location);
    return decodeText(await this.#readCut(location));
  }

  async readBytes(location: BodyLocation): Promise<Uint8Array> {
    const unstored = this.#unstored.get(location.page);
    if (unstored !== undefined) return must(unstored.read(location));
    if (this.isLarge(location.length)) return this.#readLarge(location);
    return (await this.#readCut(location)).slice();
  }

  async #readCut(location: BodyLocation): Promise<Uint8Array> {
    try {
      return cut(await this.#readPage(location.page), location);
    } catch (error) {
      return this.#readSound(location, error);
    }
  }

  /** Reads a body from a damaged page, since the body itself may be sound. Throws the error if that can't be determined. */
  async #readSound(location: BodyLocation, error: unknown): Promise<Uint8Array> {
    if (location.checksum === undefined) throw error;
    return this.#checked(location, cut(await this.#readDamaged(location.page, error), location));
  }

  async #readDamaged(page: number, error: unknown): Promise<Uint8Array> {
    const bytes = isDatabaseError(error, 'storage_corrupt') ? await this.options.file.readDamaged?.(page) : undefined;
    if (bytes === undefined) throw error;
    return bytes;
  }

  /** Returns the body's text if it is in memory. */
  readInMemory(location: BodyLocation): string | undefined {
    if (location.page === 0) return EMPTY_BODY;
    const unstored = this.#unstored.get(location.page);
    if (unstored !== undefined) return decodeText(must(unstored.read(location)));
    const cached = this.options.cache.get(location.page);
    return cached instanceof Uint8Array ? decodeText(cut(cached, location)) : undefined;
  }

  async #readLongText(location: BodyLocation): Promise<string> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of this.#chunks(location)) {
      for (let from = 0; from < chunk.length; from += PIECE_BYTES) {
        text += decoder.decode(chunk.subarray(from, from + PIECE_BYTES), { stream: true });
      }
    }
    return text + decoder.decode();
  }

  /**
   * Yields the body's text, a large one in pieces. Between two pieces only what the garbage collector leaves is held: a reader that is slow, or
   * stops, holds no page.
   */
  async *pieces(location: BodyLocation): AsyncGenerator<string, void, void> {
    const { page, length } = location;
    if (!this.isLarge(length)) return yield await this.read(location);
    const { maxPageBytes } = this.options;
    const held = new HeldPage((number) => this.#loadPage(number));
    for (let at = 0; at < length; ) {
      const from = at % maxPageBytes;
      const to = Math.min(from + PIECE_BYTES, maxPageBytes, from + length - at);
      if (from === 0 && at + maxPageBytes < length) this.options.file.readAhead?.([page + at / maxPageBytes + 1]);
      const text = await held.text(page + (at - from) / maxPageBytes, from, to);
      at += to - from;
      if (text !== '') yield text;
    }
  }

  async #readLarge(location: BodyLocation): Promise<Uint8Array> {
    const bytes = new Uint8Array(location.length);
    let filled = 0;
    for await (const chunk of this.#chunks(location)) {
      bytes.set(chunk, filled);
      filled += chunk.length;
    }
    return bytes;
  }

  /** Yields the chunks of a large body, and lets other tasks run between two of them. */
  async *#chunks({ page: first, length }: BodyLocation): AsyncGenerator<Uint8Array, void, void> {
    const timeSlice = new TimeSlice();
    let rest = length;
    for (let page = first; rest > 0; page++) {
      if (timeSlice.isDue) await timeSlice.rest();
      if (rest > this.options.maxPageBytes) this.options.file.readAhead?.([page + 1]);
      const chunk = (await this.#loadPage(page)).subarray(0, rest);
      rest -= chunk.length;
      yield chunk;
    }
  }

  /**
   * Returns the documents whose bodies a page holds. For a large body, `page` is the first of its pages. `mayBeDamaged`: for callers that can
   * tell whether the listing of a damaged page is right.
   */
  async listing(page: number, totalBytes: number, mayBeDamaged = false): Promise<readonly DocId[]> {
    const unstored = this.#unstored.get(page);
    if (unstored !== undefined) return unstored.ids;
    if (!this.isLarge(totalBytes)) {
      const read = this.#readPage(page);
      return listingOf(await (mayBeDamaged ? read.catch((error) => this.#readDamaged(page, error)) : read), page);
    }
    const listingPage = page + this.chunkCount(totalBytes);
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
}

function cut(page: Uint8Array, location: BodyLocation): Uint8Array {
  return page.subarray(location.offset, location.offset + location.length);
}

/** The page that was read last, as long as memory is not needed otherwise, and its bytes decoded as text. */
class HeldPage {
  readonly #load: (page: number) => Promise<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #number = 0;
  #bytes: WeakRef<Uint8Array> | undefined;

  constructor(load: (page: number) => Promise<Uint8Array>) {
    this.#load = load;
  }

  /** Returns the text of a range. Must be called for consecutive ranges: a character may span two of them. */
  async text(page: number, from: number, to: number): Promise<string> {
    const known = this.#number === page ? this.#bytes?.deref() : undefined;
    const bytes = known ?? (await this.#load(page));
    if (bytes !== known) this.#bytes = new WeakRef(bytes);
    this.#number = page;
    return this.#decoder.decode(bytes.subarray(from, to), { stream: true });
  }
}
