import type { JournalRecord, PageNumber, PageValue } from './page-store.ts';
import { storageCorrupt } from './storage-errors.ts';

/** The layout that this version writes, and the newest that it reads. 1: the first. */
export const MEMORY_FORMAT = 1;

/** What one file holds. Mutable, and shared by all that have it open. */
export interface MemoryFile {
  format: number;
  epoch: number;
  /** The lowest number that the next owner may claim. */
  journalFloor: number;
  head: string | undefined;
  readonly journal: Map<number, JournalRecord>;
  readonly pages: Map<PageNumber, PageValue>;
  /** Sum of the lengths of pages; a character of text counts as one byte. */
  pageBytes: number;
  destroyed: boolean;
  readonly followers: MemoryHolds;
}

/** The states of one file that followers hold. */
export class MemoryHolds {
  readonly #held = new Set<Promise<void>>();

  /** Begins a hold. Returns the function that ends it. */
  hold(): () => void {
    let end = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#held.add(held);
    return () => {
      this.#held.delete(held);
      end();
    };
  }

  /** Resolves when the present holds have ended; undefined if there are none. */
  whenPassed(): Promise<void> | undefined {
    return this.#held.size === 0 ? undefined : Promise.all(this.#held).then(() => undefined);
  }
}

/**
 * What a disk is to the other backends: it outlives the stores that work on it. Two stores over one medium are two
 * owners; a clone is the state that a crash at this moment would leave.
 */
export class MemoryMedium {
  readonly files = new Map<string, MemoryFile>();

  /** A deep copy, which shares only immutable values with this one. */
  clone(): MemoryMedium {
    const copy = new MemoryMedium();
    for (const [name, file] of this.files) {
      const followers = new MemoryHolds();
      copy.files.set(name, { ...file, journal: new Map(file.journal), pages: new Map(file.pages), followers });
    }
    return copy;
  }
}

/** Returns a page; undefined if there is none. Fails with `storage_corrupt` if it is of another kind. */
export function readMemoryPage(
  { pages }: MemoryFile,
  name: string,
  page: PageNumber,
  kind: 'text' | 'bytes',
): PageValue | undefined {
  const value = pages.get(page);
  if (value !== undefined && (typeof value === 'string') !== (kind === 'text')) {
    throw storageCorrupt(name, `page ${page} does not hold ${kind}`);
  }
  return value;
}

export function createMemoryFile(): MemoryFile {
  return {
    format: MEMORY_FORMAT,
    epoch: 0,
    journalFloor: 1,
    head: undefined,
    journal: new Map(),
    pages: new Map(),
    pageBytes: 0,
    destroyed: false,
    followers: new MemoryHolds(),
  };
}
