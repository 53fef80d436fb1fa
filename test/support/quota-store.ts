import type { Commit, PageFile, PageStore } from '../../src/storage/page-store.ts';
import { withReserve } from '../../src/storage/reserving-store.ts';
import type { ReservedSpace, ReservePart } from '../../src/storage/space-reserve.ts';
import { storageFailed, storageFull } from '../../src/storage/storage-errors.ts';
import { HookedStore, type StorageHooks } from '../unit/database/store/harness.ts';

/** What opening a file writes, and what an empty file takes. */
const OPENING_BYTES = 200;
const FILE_BYTES = 1_000;

interface Held {
  readonly pages: Map<number, number>;
  readonly journal: Map<number, number>;
  head: number;
  openings: number;
}

/**
 * A medium with a capacity in bytes, which outlives the stores on it. A commit needs room for everything that it writes before it frees anything, as
 * on a real medium; so does an opening.
 */
export class Quota {
  /** Bytes. */
  capacity = Number.POSITIVE_INFINITY;
  /** Commits and openings that were refused for lack of room. */
  refusals = 0;
  readonly reserved: Record<ReservePart, number> = { deletions: 0, upkeep: 0 };
  /** No space can be reserved, for a reason other than lack of room. */
  holdsReserve = false;
  readonly #files = new Map<string, Held>();
  readonly #everReserved = new Set<ReservePart>();
  #starts = 0;

  get used(): number {
    let bytes = this.reserved.deletions + this.reserved.upkeep;
    for (const { pages, journal, head, openings } of this.#files.values()) {
      bytes += FILE_BYTES + openings * OPENING_BYTES + head + sum(pages) + sum(journal);
    }
    return bytes;
  }

  /** From now on there is no room except the reserve. */
  fill(): void {
    this.capacity = this.used;
  }

  /** A store, as when the service starts. The previous one no longer has any effect: its process has ended. */
  store(store: PageStore): PageStore {
    this.#starts += 1;
    const start = this.#starts;
    const live = (): Promise<void> | undefined => (start === this.#starts ? undefined : new Promise(() => undefined));
    const hooks: StorageHooks = {
      beforeOpen: (file, mode) => live() ?? this.#open(file, mode),
      beforeCommit: (commit, file) => live() ?? this.#take(file, addedBytes(commit)),
      afterCommit: (commit, file) => this.#committed(file, commit),
    };
    const limited = new HookedStore(store, hooks);
    const destroy = async (file: string): Promise<void> => {
      await live();
      await limited.destroy(file);
      this.#files.delete(file);
    };
    const counted: PageStore = {
      supports: limited.supports,
      list: () => limited.list(),
      open: (file, mode): Promise<PageFile> => limited.open(file, mode),
      destroy,
      close: () => limited.close(),
    };
    return withReserve(counted, this.#space());
  }

  #space(): ReservedSpace {
    return {
      measure: async () => {
        const bytesOf = (part: ReservePart): number | undefined =>
          this.#everReserved.has(part) ? this.reserved[part] : undefined;
        return { deletions: bytesOf('deletions'), upkeep: bytesOf('upkeep') };
      },
      grow: async (part, bytes) => {
        if (this.holdsReserve)
          throw storageFailed('the reserve', 'reserving space', new Error('held by another process'));
        this.#take('the reserve', bytes - this.reserved[part]);
        this.#everReserved.add(part);
        this.reserved[part] = bytes;
      },
      release: async (part) => {
        this.reserved[part] = 0;
      },
    };
  }

  #open(file: string, mode: 'create' | 'open'): void {
    this.#take(file, mode === 'create' ? FILE_BYTES + OPENING_BYTES : OPENING_BYTES);
    if (mode === 'create') this.#files.set(file, { pages: new Map(), journal: new Map(), head: 0, openings: 0 });
    const held = this.#files.get(file);
    if (held !== undefined) held.openings += 1;
  }

  #take(file: string, bytes: number): void {
    if (this.used + bytes <= this.capacity) return;
    this.refusals += 1;
    throw storageFull(file, undefined);
  }

  #committed(file: string, { journal, writePages = [], dropPages = [], head, truncateJournal = 0 }: Commit): void {
    const held = this.#files.get(file);
    if (held === undefined) return;
    if (journal !== undefined) held.journal.set(journal.number, journal.text.length);
    for (const { number, value } of writePages) held.pages.set(number, value.length);
    for (const number of dropPages) held.pages.delete(number);
    if (head !== undefined) held.head = head.length;
    for (const number of held.journal.keys()) if (number < truncateJournal) held.journal.delete(number);
  }
}

function addedBytes({ journal, writePages = [], head }: Commit): number {
  const pages = writePages.reduce((bytes, { value }) => bytes + value.length, 0);
  return pages + (journal?.text.length ?? 0) + (head?.length ?? 0);
}

function sum(lengths: ReadonlyMap<number, number>): number {
  let bytes = 0;
  for (const length of lengths.values()) bytes += length;
  return bytes;
}
