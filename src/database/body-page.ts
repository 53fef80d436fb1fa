import type { DocId, RevId } from '../documents/contract.ts';
import { DatabaseError } from '../errors/database-error.ts';
import type { BodyLocation } from './contract.ts';

/**
 * The form of body pages: bodies back to back as UTF-8, then a listing of what they are (JSON), then the listing's
 * length as eight hexadecimal digits. The listing is how repacking finds the documents whose bodies a page holds.
 */
export interface ListedBody {
  readonly id: DocId;
  readonly rev: RevId;
  readonly offset: number;
  readonly length: number;
}

const LENGTH_DIGITS = 8;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function encodeText(text: string): Uint8Array {
  return encoder.encode(text);
}

export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** A page that bodies are being added to. Its bodies can be read from the first moment. */
export class BodyPage {
  readonly number: number;
  #pieces: Uint8Array[] = [];
  #listed: ListedBody[] = [];
  #bytes = 0;

  constructor(number: number) {
    this.number = number;
  }

  /** Bytes of bodies so far. */
  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#pieces.length;
  }

  /** Takes back the bodies that were added after the first `count`. */
  truncate(count: number): void {
    this.#pieces.length = count;
    this.#listed.length = count;
    this.#bytes = this.#pieces.reduce((sum, piece) => sum + piece.length, 0);
  }

  append(id: DocId, rev: RevId, body: Uint8Array): BodyLocation {
    const location = { page: this.number, offset: this.#bytes, length: body.length };
    this.#pieces.push(body);
    this.#listed.push({ id, rev, offset: location.offset, length: location.length });
    this.#bytes += body.length;
    return location;
  }

  /** The body at `location`; bodies are found by halving, since they were added in the order of their offsets. */
  read(location: BodyLocation): Uint8Array | undefined {
    let low = 0;
    let high = this.#listed.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#listed[middle]?.offset ?? 0) <= location.offset) low = middle;
      else high = middle - 1;
    }
    return this.#pieces[low];
  }

  get listed(): readonly ListedBody[] {
    return this.#listed;
  }

  /** The page's stored form. */
  encode(): Uint8Array<ArrayBuffer> {
    const listing = encodeListing(this.#listed);
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

/** The end of a body page: its listing and the listing's length. */
export function encodeListing(listed: readonly ListedBody[]): Uint8Array<ArrayBuffer> {
  const rows = listed.map(({ id, rev, offset, length }) => [id, rev, offset, length]);
  const listing = encoder.encode(JSON.stringify(rows));
  const bytes = new Uint8Array(listing.length + LENGTH_DIGITS);
  bytes.set(listing);
  bytes.set(encoder.encode(listing.length.toString(16).padStart(LENGTH_DIGITS, '0')), listing.length);
  return bytes;
}

/** Reads the listing at a page's end. */
export function listingOf(page: Uint8Array, number: number): ListedBody[] {
  const length = Number.parseInt(decoder.decode(page.subarray(-LENGTH_DIGITS)), 16);
  const end = page.length - LENGTH_DIGITS;
  try {
    const listing = JSON.parse(decoder.decode(page.subarray(end - length, end))) as [DocId, RevId, number, number][];
    return listing.map(([id, rev, offset, bytes]) => ({ id, rev, offset, length: bytes }));
  } catch (cause) {
    throw new DatabaseError('storage_corrupt', `Body page ${number} has no readable listing. Restore from a backup.`, {
      cause,
    });
  }
}
