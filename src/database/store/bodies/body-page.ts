import { storageDamage } from '../../../base/errors/database-error.ts';
import { BYTES_OVERHEAD } from '../../../storage/paging/checksums.ts';
import type { DocId } from '../../documents/contract.ts';
import type { BodyLocation } from '../contract.ts';

/**
 * The form of body pages: bodies back to back as UTF-8, then a listing of the documents they belong to (a JSON array of
 * ids, in the bodies' order), then the listing's length as eight hexadecimal digits. The listing is how repacking finds
 * the entries that point to a page. It is empty if the ids are longer than a listing can be.
 */

const LENGTH_DIGITS = 8;
/** The listing's brackets and its length, and the page's checksum. */
const LISTING_FRAME = 2 + LENGTH_DIGITS + BYTES_OVERHEAD;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** Maximum bytes of a UTF-16 unit of an id in a listing: as `\u001f`. */
const MAX_UNIT_BYTES = 6;

/** Returns the bytes that a document adds to the listing: its id, quotes and a comma; for ids of plain characters. */
export function listingBytes(id: DocId): number {
  return id.length + 3;
}

/** Returns the upper bound of `listingBytes`, whatever characters the id has. */
export function mostListingBytes(id: DocId): number {
  return MAX_UNIT_BYTES * id.length + 3;
}

/** A page that bodies are being added to. Its bodies are readable from the start. */
export class BodyPage {
  readonly number: number;
  readonly #pieces: Uint8Array[] = [];
  /** Undefined for a body that the listing leaves out. */
  readonly #ids: (DocId | undefined)[] = [];
  readonly #offsets: number[] = [];
  #bytes = 0;
  #listingBytes = 0;
  #mostListingBytes = 0;

  constructor(number: number) {
    this.number = number;
  }

  /** Bytes of bodies so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of the page's stored form; exact if ids have only plain characters. */
  get storedBytes(): number {
    return this.#bytes + this.#listingBytes + LISTING_FRAME;
  }

  /** Maximum bytes of the page's stored form. */
  get mostStoredBytes(): number {
    return this.#bytes + this.#mostListingBytes + LISTING_FRAME;
  }

  get count(): number {
    return this.#pieces.length;
  }

  /** Whether the listing names the documents; undefined while there are none. */
  get isListed(): boolean | undefined {
    return this.count === 0 ? undefined : this.#ids[0] !== undefined;
  }

  /** Removes the bodies that were added after the first `count`. */
  truncate(count: number): void {
    this.#pieces.length = count;
    this.#ids.length = count;
    this.#offsets.length = count;
    this.#listingBytes = this.ids.reduce((sum, id) => sum + listingBytes(id), 0);
    this.#mostListingBytes = this.ids.reduce((sum, id) => sum + mostListingBytes(id), 0);
    this.#bytes = this.#pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  /** Adds a body and returns its location. `isListed`: whether the listing names the document. */
  append(id: DocId, body: Uint8Array, checksum: number, isListed: boolean): BodyLocation {
    const location = { page: this.number, offset: this.#bytes, length: body.length, checksum };
    this.#pieces.push(body);
    this.#ids.push(isListed ? id : undefined);
    if (isListed) {
      this.#listingBytes += listingBytes(id);
      this.#mostListingBytes += mostListingBytes(id);
    }
    this.#offsets.push(location.offset);
    this.#bytes += body.length;
    return location;
  }

  /** Returns the body at `location`; finds it by binary search, since bodies were added in the order of their offsets. */
  read(location: BodyLocation): Uint8Array | undefined {
    let low = 0;
    let high = this.#offsets.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#offsets[middle] ?? 0) <= location.offset) low = middle;
      else high = middle - 1;
    }
    return this.#pieces[low];
  }

  /** The documents that the page lists. */
  get ids(): readonly DocId[] {
    return this.#ids.filter((id) => id !== undefined);
  }

  /** Returns the page's stored form. */
  encode(): Uint8Array<ArrayBuffer> {
    const listing = encodeListing(this.ids);
    const page = new Uint8Array(this.#bytes + listing.length);
    let offset = 0;
    for (const piece of this.#pieces) {
      page.set(piece, offset);
      offset += piece.length;
    }
    page.set(listing, offset);
    return page;
  }
}

/** Returns the maximum bytes of the stored form of a listing of one document. */
export function mostLoneListingBytes(id: DocId): number {
  return mostListingBytes(id) + LISTING_FRAME;
}

/** Returns the end of a body page: its listing and the listing's length. */
export function encodeListing(ids: readonly DocId[]): Uint8Array<ArrayBuffer> {
  const listing = encoder.encode(JSON.stringify(ids));
  const bytes = new Uint8Array(listing.length + LENGTH_DIGITS);
  bytes.set(listing);
  bytes.set(encoder.encode(listing.length.toString(16).padStart(LENGTH_DIGITS, '0')), listing.length);
  return bytes;
}

/** Reads the listing at a page's end. */
export function listingOf(page: Uint8Array, number: number): DocId[] {
  const length = Number.parseInt(decoder.decode(page.subarray(-LENGTH_DIGITS)), 16);
  const end = page.length - LENGTH_DIGITS;
  try {
    return JSON.parse(decoder.decode(page.subarray(end - length, end))) as DocId[];
  } catch (cause) {
    throw storageDamage(`Page ${number} is damaged: its list of documents can't be read.`, cause);
  }
}
