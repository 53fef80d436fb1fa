import { nextTurn } from '../../base/shared/turn.ts';
import type { PageNumber, PageValue } from '../page-store.ts';
import type { PageReader } from './page-reader.ts';

/** Files with more than this, in bytes or in pages, are never read ahead: most reads may want another part of them. */
const SMALL_FILE_BYTES = 16 * 2 ** 20;
const SMALL_FILE_PAGES = 2048;
/** Number of reads that must wait for the medium before read-ahead begins: a caller that reads a page or two causes none. */
const PATIENCE = 3;
/** Pages that are read ahead at a time: as many as take about the time of a few requests. */
const MAX_AT_ONCE = 16;

/** Maximum size of pages that were read ahead, and not requested yet, in all files of a store. */
const ROOM_BYTES = 8 * 2 ** 20;

/** The free part of that room. */
export class ReadAheadRoom {
  #free = ROOM_BYTES;

  /** Returns false, and takes nothing, if there is not that much. */
  take(bytes: number): boolean {
    if (bytes > this.#free) return false;
    this.#free -= bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.#free += bytes;
  }
}

interface ReadAheadOptions {
  readonly reader: PageReader;
  readonly room: ReadAheadRoom;
  /** Approximate number of pages in the file, and their total size. */
  readonly extent: () => { readonly pages: number; readonly bytes: number };
  /** The numbers of all its pages, ascending. */
  readonly listNumbers: () => Promise<readonly PageNumber[]>;
}

/**
 * Reads a small file's pages before they are requested: the more reads had to wait for the medium, the more it reads when no request is
 * pending, until each page was read once. In a browser a transaction takes longer than reading a dozen pages within it. Pages never
 * change, so a page held here is as good as the file's, until it is dropped.
 */
export class ReadAhead {
  readonly #options: ReadAheadOptions;
  readonly #ahead = new Map<PageNumber, Promise<PageValue | undefined>>();
  /** Pages that were requested before all page numbers were known. */
  readonly #asked: PageNumber[] = [];
  /** Pages that were neither requested nor read ahead; undefined until their numbers are known. */
  #unread: Set<PageNumber> | undefined;
  #waits = 0;
  #underWay = 0;
  #isOver = false;
  /** What each page counts for in the room. */
  #pageBytes = 0;

  constructor(options: ReadAheadOptions) {
    this.#options = options;
  }

  read(page: PageNumber): Promise<PageValue | undefined> {
    const ahead = this.#ahead.get(page);
    if (ahead !== undefined) {
      this.#release(page);
      return ahead;
    }
    const read = this.#options.reader.read(page);
    if (!this.#isOver) void this.#follow(page, read);
    return read;
  }

  /** Forgets pages that are no longer in the file. */
  forget(pages: Iterable<PageNumber>): void {
    for (const page of pages) {
      this.#unread?.delete(page);
      if (this.#ahead.has(page)) this.#release(page);
    }
  }

  close(): void {
    this.#isOver = true;
    this.forget([...this.#ahead.keys()]);
  }

  #release(page: PageNumber): void {
    this.#ahead.delete(page);
    this.#options.room.giveBack(this.#pageBytes);
  }

  /** A caller that waits for a page may want the next one because of it: that comes before all pages that no one requested. */
  async #follow(page: PageNumber, read: Promise<unknown>): Promise<void> {
    this.#waits += 1;
    this.#underWay += 1;
    if (this.#unread === undefined) this.#asked.push(page);
    else this.#unread.delete(page);
    await read.catch(() => undefined);
    this.#underWay -= 1;
    if (this.#underWay > 0 || this.#waits < PATIENCE) return;
    await nextTurn();
    if (this.#underWay > 0 || this.#isOver) return;
    if (this.#unread === undefined) await this.#begin();
    this.#goOn(page);
  }

  async #begin(): Promise<void> {
    const { extent, listNumbers } = this.#options;
    const { pages, bytes } = extent();
    this.#pageBytes = Math.ceil(bytes / Math.max(pages, 1));
    if (pages > SMALL_FILE_PAGES || bytes > SMALL_FILE_BYTES) {
      this.#isOver = true;
      return;
    }
    // If it fails, the next caller that requests a page gets the error.
    const numbers = await listNumbers().catch(() => []);
    this.#unread ??= new Set(numbers);
    for (const page of this.#asked.splice(0)) this.#unread.delete(page);
  }

  #goOn(page: PageNumber): void {
    if (this.#isOver || this.#unread === undefined) return;
    for (const next of nearest(this.#unread, page, Math.min(2 ** this.#waits, MAX_AT_ONCE))) {
      if (!this.#options.room.take(this.#pageBytes)) return;
      this.#unread.delete(next);
      this.#readOne(next);
    }
    if (this.#unread.size === 0) this.#isOver = true;
  }

  #readOne(page: PageNumber): void {
    const read = this.#options.reader.read(page);
    this.#ahead.set(page, read);
    // The next request for it reads it again.
    read.catch(() => this.forget([page]));
  }
}

/** Returns the next pages above a page and, if there are too few, the lowest. */
function nearest(ascending: ReadonlySet<PageNumber>, page: PageNumber, count: number): PageNumber[] {
  const below: PageNumber[] = [];
  const above: PageNumber[] = [];
  for (const number of ascending) {
    if (number > page) above.push(number);
    else if (below.length < count) below.push(number);
    if (above.length === count) return above;
  }
  return [...above, ...below].slice(0, count);
}
