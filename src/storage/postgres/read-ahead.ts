import type { PageNumber, PageValue } from '../page-store.ts';

/** Maximum size of pages that were read ahead and not requested yet, in all files of a store. */
const ROOM_BYTES = 16 * 2 ** 20;
/** Pages of a file that are read ahead at a time: what is requested meanwhile waits for the same connections. */
const MAX_IN_PROGRESS = 128;

interface HeldPage {
  readonly bytes: number;
  drop(): void;
}

/** The pages of all files of a store that were read ahead, in the order in which they arrived. The oldest ones make room for others. */
export class ReadAheadRoom {
  readonly #held = new Set<HeldPage>();
  #bytes = 0;

  hold(page: HeldPage): void {
    this.#held.add(page);
    this.#bytes += page.bytes;
    for (const oldest of this.#held) {
      if (this.#bytes <= ROOM_BYTES) return;
      this.release(oldest);
      oldest.drop();
    }
  }

  release(page: HeldPage): void {
    if (this.#held.delete(page)) this.#bytes -= page.bytes;
  }
}

interface ReadAheadOptions {
  readonly room: ReadAheadRoom;
  readonly read: (page: PageNumber) => Promise<PageValue | undefined>;
}

/** Keeps a file's pages that a caller has announced, until it requests them: pages never change, until they are dropped. */
export class ReadAhead {
  readonly #options: ReadAheadOptions;
  readonly #ahead = new Map<PageNumber, Promise<PageValue | undefined>>();
  readonly #held = new Map<PageNumber, HeldPage>();

  constructor(options: ReadAheadOptions) {
    this.#options = options;
  }

  announce(pages: readonly PageNumber[]): void {
    for (const page of pages) {
      if (this.#ahead.size - this.#held.size >= MAX_IN_PROGRESS) return;
      if (!this.#ahead.has(page)) this.#begin(page);
    }
  }

  async read(page: PageNumber): Promise<PageValue | undefined> {
    const ahead = this.#ahead.get(page);
    if (ahead === undefined) return this.#options.read(page);
    this.#forget(page);
    // A page may have been announced before it was written, and a failure may have ended.
    return (await ahead.catch(() => undefined)) ?? this.#options.read(page);
  }

  /** Returns the part of a page that was announced, which stays here; undefined if it was not. */
  async readRange(page: PageNumber, offset: number, length: number): Promise<Uint8Array | undefined> {
    const value = await this.#ahead.get(page)?.catch(() => undefined);
    return value instanceof Uint8Array ? value.slice(offset, offset + length) : undefined;
  }

  isAhead(page: PageNumber): boolean {
    return this.#ahead.has(page);
  }

  /** Forgets pages that are no longer in the file. */
  forget(pages: Iterable<PageNumber>): void {
    for (const page of pages) this.#forget(page);
  }

  close(): void {
    this.forget([...this.#ahead.keys()]);
  }

  #begin(page: PageNumber): void {
    const read = this.#options.read(page);
    this.#ahead.set(page, read);
    read.then(
      (value) => this.#hold(page, read, value?.length ?? 0),
      () => {
        if (this.#ahead.get(page) === read) this.#forget(page);
      },
    );
  }

  #hold(page: PageNumber, read: Promise<unknown>, bytes: number): void {
    // Requested meanwhile.
    if (this.#ahead.get(page) !== read) return;
    const held = { bytes, drop: () => this.#forget(page) };
    this.#held.set(page, held);
    this.#options.room.hold(held);
  }

  #forget(page: PageNumber): void {
    const held = this.#held.get(page);
    if (held !== undefined) this.#options.room.release(held);
    this.#held.delete(page);
    this.#ahead.delete(page);
  }
}
