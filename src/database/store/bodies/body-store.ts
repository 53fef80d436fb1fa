import { assert } from '../../../base/shared/assert.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { Page } from '../../../storage/page-store.ts';
import type { PageAllocator } from '../../../storage/paging/page-allocator.ts';
import type { DocId } from '../../documents/contract.ts';
import type { BodyLocation } from '../contract.ts';
import { BodyPage, encodeListing, listingBytes, mostListingBytes } from './body-page.ts';
import { BodyReader, type BodyReaderOptions } from './body-reader.ts';

/** Bodies packed between two checks of the clock. */
const BODIES_PER_STEP = 256;

interface BodyStoreOptions extends BodyReaderOptions {
  readonly allocator: PageAllocator;
}

/**
 * Stores new bodies of documents. Bodies of small commits stay in memory (and in the journal) until a
 * checkpoint stores their page; larger commits include their pages.
 */
export class BodyStore {
  /** Where new bodies are encoded. */
  readonly arena = new TextArena();
  /** Reads both stored and unstored bodies. */
  readonly reader: BodyReader;
  readonly #options: BodyStoreOptions;
  /** Pages that are not stored yet, by number. */
  readonly #unstored = new Map<number, BodyPage>();
  /** The unstored page that takes the next body. */
  #open: BodyPage | undefined;

  constructor(options: BodyStoreOptions) {
    this.#options = options;
    this.reader = new BodyReader(options, this.#unstored);
  }

  /** Adds a body to the page that waits for the next checkpoint. */
  append(id: DocId, body: Uint8Array): BodyLocation {
    assert(!this.reader.isLarge(body.length), () => `a body of ${body.length} bytes needs pages of its own`);
    if (this.#open !== undefined && !this.#fits(this.#open, id, body.length)) this.#open = undefined;
    if (this.#open === undefined) {
      this.#open = new BodyPage(this.#options.allocator.allocate());
      this.#unstored.set(this.#open.number, this.#open);
    }
    return this.#appendTo(this.#open, id, body);
  }

  /**
   * Whether a page may take a further body: its stored form stays no longer than what the backend stores without waste, and never
   * longer than the maximum of a page. A page lists either all its bodies or none.
   */
  #fits(page: BodyPage, id: DocId, bytes: number): boolean {
    const { pageBytes, maxPageBytes } = this.#options;
    if (page.isListed !== undefined && page.isListed !== this.reader.isListed(id)) return false;
    const isFrugal = page.storedBytes + listingBytes(id) + bytes <= pageBytes;
    return isFrugal && page.mostStoredBytes + mostListingBytes(id) + bytes <= maxPageBytes;
  }

  #appendTo(page: BodyPage, id: DocId, body: Uint8Array): BodyLocation {
    return page.append(id, body, this.#options.crc32(body), this.reader.isListed(id));
  }

  /** Packs bodies into pages of their own, in the given order. The pages must be part of the same commit. */
  *pack(bodies: readonly { readonly id: DocId; readonly bytes: Uint8Array }[]): CooperativeTask<PackedBodies> {
    const locations: BodyLocation[] = [];
    const pages: Page[] = [];
    let page: BodyPage | undefined;
    const close = () => {
      if (page !== undefined) pages.push({ number: page.number, value: page.encode() });
      page = undefined;
    };
    for (const { id, bytes } of bodies) {
      if (this.reader.isLarge(bytes.length)) {
        const large = yield* this.#packLarge(id, bytes);
        locations.push(large.location);
        pages.push(...large.pages);
        continue;
      }
      if (page !== undefined && !this.#fits(page, id, bytes.length)) close();
      page ??= new BodyPage(this.#options.allocator.allocate());
      locations.push(this.#appendTo(page, id, bytes));
      if (locations.length % BODIES_PER_STEP === 0) yield;
    }
    close();
    return { locations, pages };
  }

  /** Returns chunks of the body, then a separate page for the listing. */
  *#packLarge(id: DocId, bytes: Uint8Array): CooperativeTask<{ location: BodyLocation; pages: Page[] }> {
    const { allocator, maxPageBytes, crc32 } = this.#options;
    const chunks = this.reader.chunkCount(bytes.length);
    const first = allocator.allocate(chunks + 1);
    const pages: Page[] = [];
    let checksum = 0;
    for (let index = 0; index < chunks; index++) {
      const value = bytes.subarray(index * maxPageBytes, (index + 1) * maxPageBytes);
      checksum = crc32(value, checksum);
      pages.push({ number: first + index, value });
      yield;
    }
    pages.push({ number: first + chunks, value: encodeListing([id].filter((listed) => this.reader.isListed(listed))) });
    return { location: { page: first, offset: 0, length: bytes.length, checksum }, pages };
  }

  /** Returns the pages that wait for a checkpoint. From now on new bodies go to another page. */
  seal(): BodyPage[] {
    this.#open = undefined;
    return [...this.#unstored.values()];
  }

  /** Forgets pages that a checkpoint has stored; from now on they are read from the file. */
  stored(pages: readonly BodyPage[]): void {
    for (const page of pages) this.#unstored.delete(page.number);
  }

  /** Returns a point to which `rollback` can return, if the commit that bodies were added for fails. */
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

interface BodyMark {
  readonly open: BodyPage | undefined;
  readonly count: number;
  readonly pages: ReadonlySet<number>;
}

interface PackedBodies {
  readonly locations: readonly BodyLocation[];
  readonly pages: readonly Page[];
}

/** Bytes that are reserved at a time. */
const CHUNK_BYTES = 64 * 1024;

/** Maximum bytes of a UTF-16 unit in UTF-8. */
const MAX_UNIT_BYTES = 3;

/**
 * Encodes many short texts as UTF-8 into few buffers: a separate buffer for each document of a batch would cost more
 * than encoding it. A text's bytes keep their shared buffer in memory.
 */
export class TextArena {
  readonly #encoder = new TextEncoder();
  #free = new Uint8Array(0);

  encode(text: string): Uint8Array {
    const most = text.length * MAX_UNIT_BYTES;
    if (most > CHUNK_BYTES) return this.#encoder.encode(text);
    if (most > this.#free.length) this.#free = new Uint8Array(CHUNK_BYTES);
    const { written } = this.#encoder.encodeInto(text, this.#free);
    const bytes = this.#free.subarray(0, written);
    this.#free = this.#free.subarray(written);
    return bytes;
  }

  /** Releases the reserved buffer, for a database that may be idle from now on. */
  release(): void {
    this.#free = new Uint8Array(0);
  }
}
