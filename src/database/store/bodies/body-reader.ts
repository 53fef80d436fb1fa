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

/** How many pages are remembered as read from lately: so few that in a large database hardly one is met again by chance. */
const READ_LATELY = 256;

/** The least share of a page that has to be wanted for it to be read, copied and checked as a whole. */
const WORTH_WHOLE = 1 / 8;

/** Bytes of a large body that become one piece of its text. Of more than about a megabyte Node makes a text of two bytes a character, whatever the characters. */
const PIECE_BYTES = 262_144;

interface BodyFile extends PageFile {
  /** A page whose checksum may be wrong. Without it the documents of a damaged page can't be read, whatever is damaged. */
  readDamaged?(page: PageNumber): MaybePromise<Uint8Array | undefined>;
}

export interface BodyReaderOptions {
  readonly file: BodyFile;
  readonly cache: PageCache;
  readonly crc32: Crc32;
  /** What a body page aims for. */
  readonly pageBytes: number;
  readonly maxPageBytes: number;
}

/** Reads bodies of documents: from pages that are not stored yet, from the cache, or from the file. */
export class BodyReader {
  readonly options: BodyReaderOptions;
  readonly #unstored: ReadonlyMap<number, BodyPage>;
  /** Pages that single bodies were read from without keeping the page. */
  readonly #readLately = new Set<number>();

  /** `unstored`: pages that are in memory alone, by number. Who reads what another one writes has none. */
  constructor(options: BodyReaderOptions, unstored: ReadonlyMap<number, BodyPage> = new Map()) {
    this.options = options;
    this.#unstored = unstored;
  }

  /** Whether a body of this size gets pages of its own, which are written with its commit and never journalled. */
  isLarge(bytes: number): boolean {
    return bytes > this.options.pageBytes;
  }

  /**
   * Whether pages list the documents of this id. Ids that are longer than any that is taken today would make a listing
   * that no page holds. A page with the body of such a document is not repacked.
   */
  isListed(id: DocId): boolean {
    const { pageBytes, maxPageBytes } = this.options;
    return pageBytes + mostLoneListingBytes(id) <= maxPageBytes;
  }

  /** Into how many pages a large body is cut. */
  chunkCount(bodyBytes: number): number {
    return Math.ceil(bodyBytes / this.options.maxPageBytes);
  }

  /** Numbers of all pages that belong to the body page `page`: itself, or what a large body is spread over. */
  pagesOf(page: number, totalBytes: number): number[] {
    const count = this.isLarge(totalBytes) ? this.chunkCount(totalBytes) + 1 : 1;
    return Array.from({ length: count }, (_unused, index) => page + index);
  }

  /** The body's text. */
  read(location: BodyLocation): MaybePromise<string> {
    return this.readAtOnce(location) ?? this.readWithPage(location);
  }

  /**
   * The body's text where nothing has to be waited for. A body is read alone, without its page, unless another one of the
   * page was read lately: then the page is worth its place in the cache as a whole, and this gives undefined.
   */
  readAtOnce(location: BodyLocation): string | undefined {
    const known = this.readInMemory(location);
    if (known !== undefined || this.#readLately.has(location.page)) return known;
    if (this.#readLately.size >= READ_LATELY) this.#readLately.clear();
    this.#readLately.add(location.page);
    return this.#readAlone(location);
  }

  #readAlone(location: BodyLocation): string | undefined {
    const { page, offset, length } = location;
    const { file } = this.options;
    const bytes = this.isLarge(length) ? undefined : file.readRange?.(page, offset, length);
    return bytes && decodeText(this.#checked(location, bytes));
  }

  /** The checksum of the page says nothing of a body that is read without it. */
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
   * As `read`, for one of many that are wanted, in the order of their places. A page of which little is wanted is not read as a whole: of
   * documents that were written in another order than that of their ids, each one has another page.
   */
  readOneOf(locations: readonly BodyLocation[], at: number): MaybePromise<string> {
    const location = must(locations[at]);
    if (location.checksum === undefined || this.#isWholeWanted(locations, at)) return this.readWithPage(location);
    if (locations[at - 1]?.page !== location.page) return this.read(location);
    // The one before it made the page one that was read lately, for those who come later.
    return this.readInMemory(location) ?? this.#readAlone(location) ?? this.readWithPage(location);
  }

  /** Whether enough is wanted of the page of one of the locations. */
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

  /** The page is kept for its neighbours. */
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

  /** A body in a damaged page may be sound itself. Throws the error where that can't be told. */
  async #readSound(location: BodyLocation, error: unknown): Promise<Uint8Array> {
    if (location.checksum === undefined) throw error;
    return this.#checked(location, cut(await this.#readDamaged(location.page, error), location));
  }

  async #readDamaged(page: number, error: unknown): Promise<Uint8Array> {
    const bytes = isDatabaseError(error, 'storage_corrupt') ? await this.options.file.readDamaged?.(page) : undefined;
    if (bytes === undefined) throw error;
    return bytes;
  }

  /** The body's text where it is in memory. */
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
   * The body's text, of a large one in pieces. Between two of them nothing is held but what the collector leaves: who reads slowly, or not at
   * all, holds no page.
   */
  async *pieces(location: BodyLocation): AsyncGenerator<string, void, void> {
    const { page, length } = location;
    if (!this.isLarge(length)) return yield await this.read(location);
    const { maxPageBytes } = this.options;
    const held = new HeldPage((number) => this.#loadPage(number));
    for (let at = 0; at < length; ) {
      const from = at % maxPageBytes;
      const to = Math.min(from + PIECE_BYTES, maxPageBytes, from + length - at);
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

  /** What a large body is cut into: others may have a turn between two chunks. */
  async *#chunks({ page: first, length }: BodyLocation): AsyncGenerator<Uint8Array, void, void> {
    const timeSlice = new TimeSlice();
    let rest = length;
    for (let page = first; rest > 0; page++) {
      if (timeSlice.isDue) await timeSlice.rest();
      const chunk = (await this.#loadPage(page)).subarray(0, rest);
      rest -= chunk.length;
      yield chunk;
    }
  }

  /**
   * The documents whose bodies a page holds. For a large body, `page` is the first of its pages. `mayBeDamaged`: for who can tell whether
   * the listing of a damaged page is right.
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

/** The page that was read last, for as long as memory is not needed otherwise, and what its bytes are as text. */
class HeldPage {
  readonly #load: (page: number) => Promise<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #number = 0;
  #bytes: WeakRef<Uint8Array> | undefined;

  constructor(load: (page: number) => Promise<Uint8Array>) {
    this.#load = load;
  }

  /** To be called from one place to the next: a character may lie across two of them. */
  async text(page: number, from: number, to: number): Promise<string> {
    const known = this.#number === page ? this.#bytes?.deref() : undefined;
    const bytes = known ?? (await this.#load(page));
    if (bytes !== known) this.#bytes = new WeakRef(bytes);
    this.#number = page;
    return this.#decoder.decode(bytes.subarray(from, to), { stream: true });
  }
}
