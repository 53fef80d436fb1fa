import { type Crc32, crc32 } from '../base/shared/crc32.ts';
import { assertCommit, assertFileName } from './backend-checks.ts';
import { MemoryFollowedFile } from './memory-followed-file.ts';
import { createMemoryFile, MEMORY_FORMAT, type MemoryFile, MemoryMedium, readMemoryPage } from './memory-medium.ts';
import { FileLife, OpenFiles } from './open-files.ts';
import {
  type Commit,
  type FollowedFile,
  type JournalRecord,
  MAX_PAGE_BYTES,
  type Opening,
  type Page,
  type PageFile,
  type PageNumber,
  type PageStore,
  type PageStoreSupport,
} from './page-store.ts';
import {
  storageClosed,
  storageDeleted,
  storageExists,
  storageFenced,
  storageMissing,
  storageNewerFormat,
} from './storage-errors.ts';

export { createMemoryFile, type MemoryFile, MemoryMedium } from './memory-medium.ts';

interface MemoryPageStoreOptions {
  /** What the store works on; a new, empty one by default. */
  readonly medium?: MemoryMedium | undefined;
  /** The host's own, if it has a faster one. */
  readonly crc32?: Crc32 | undefined;
}

/** Makes a store that lives as long as its medium is referenced: for tests, and for services that need nothing kept. */
export function createMemoryPageStore(options: MemoryPageStoreOptions = {}): PageStore {
  return new MemoryPageStore(options.medium ?? new MemoryMedium(), options.crc32 ?? crc32);
}

class MemoryPageStore implements PageStore {
  readonly supports: PageStoreSupport;
  readonly #medium: MemoryMedium;
  readonly #open = new OpenFiles<MemoryPageFile | MemoryFollowedFile>();

  constructor(medium: MemoryMedium, crc32: Crc32) {
    this.#medium = medium;
    this.supports = {
      backend: 'memory',
      leafBytes: 8160,
      bodyPageBytes: 32_736,
      maxPageBytes: MAX_PAGE_BYTES,
      crc32,
      shrinks: true,
      persistent: false,
    };
  }

  async list(): Promise<string[]> {
    this.#open.mustBeOpen();
    return [...this.#medium.files.keys()].sort();
  }

  open(file: string, mode: 'create' | 'open'): Promise<PageFile> {
    return this.#open.open(async () => {
      assertFileName(file);
      const content = mode === 'create' ? this.#create(file) : this.#find(file);
      return new MemoryPageFile(file, content, this.supports, (closed) => this.#open.forget(closed));
    });
  }

  follow(file: string): Promise<FollowedFile> {
    return this.#open.open(async () => {
      assertFileName(file);
      return new MemoryFollowedFile(file, this.#find(file), (closed) => this.#open.forget(closed));
    });
  }

  async destroy(file: string): Promise<void> {
    this.#open.mustBeOpen();
    assertFileName(file);
    const content = this.#medium.files.get(file);
    if (content !== undefined) content.destroyed = true;
    this.#medium.files.delete(file);
  }

  get openFiles(): number {
    return this.#open.size;
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  #create(file: string): MemoryFile {
    if (this.#medium.files.has(file)) throw storageExists(file);
    const content = createMemoryFile();
    this.#medium.files.set(file, content);
    return content;
  }

  #find(file: string): MemoryFile {
    const content = this.#medium.files.get(file);
    if (content === undefined) throw storageMissing(file);
    if (content.format > MEMORY_FORMAT) throw storageNewerFormat(file, content.format, MEMORY_FORMAT);
    return content;
  }
}

const NUMBERS_PER_BATCH = 1000;

/** One owner's view of a file in memory. A commit is applied in one turn, so no one ever sees half of it. */
class MemoryPageFile implements PageFile {
  readonly name: string;
  readonly opening: Opening;
  readonly #file: MemoryFile;
  readonly #support: PageStoreSupport;
  readonly #onClosed: (file: MemoryPageFile) => void;
  readonly #life = new FileLife();
  #nextJournal: number;

  constructor(name: string, file: MemoryFile, support: PageStoreSupport, onClosed: (file: MemoryPageFile) => void) {
    this.name = name;
    this.#file = file;
    this.#support = support;
    this.#onClosed = onClosed;
    this.opening = takeOwnership(file);
    this.#nextJournal = this.opening.nextJournal;
  }

  read(page: PageNumber, kind: 'text'): string | undefined;
  read(page: PageNumber, kind: 'bytes'): Uint8Array | undefined;
  read(page: PageNumber, kind: 'text' | 'bytes'): string | Uint8Array | undefined {
    this.#mustBeUsable();
    return readMemoryPage(this.#file, this.name, page, kind);
  }

  async commit(commit: Commit): Promise<void> {
    this.#commitNow(commit);
  }

  append(journal: JournalRecord): boolean {
    this.#commitNow({ durability: 'relaxed', journal });
    return true;
  }

  async *pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]> {
    this.#mustBeUsable();
    const numbers = [...this.#file.pages.keys()].filter((number) => number >= from).sort((left, right) => left - right);
    for (let start = 0; start < numbers.length; start += NUMBERS_PER_BATCH) {
      this.#mustBeUsable();
      yield numbers.slice(start, start + NUMBERS_PER_BATCH);
    }
  }

  whenFollowersPass(): Promise<void> | undefined {
    return this.#file.followers.whenPassed();
  }

  async isCurrent(): Promise<boolean> {
    this.#mustBeUsable();
    return this.#file.epoch === this.opening.epoch;
  }

  async size(): Promise<number> {
    this.#mustBeUsable();
    let bytes = this.#file.pageBytes + (this.#file.head?.length ?? 0);
    for (const record of this.#file.journal.values()) bytes += record.text.length;
    return bytes;
  }

  async close(): Promise<void> {
    this.#life.refuse(() => storageClosed(`File "${this.name}"`));
    this.#onClosed(this);
  }

  #mustBeUsable(): void {
    if (this.#file.destroyed) this.#life.refuse(() => storageDeleted(this.name));
    this.#life.mustBeOpen();
  }

  #commitNow(commit: Commit): void {
    this.#mustBeUsable();
    assertCommit(commit, this.#nextJournal, this.#support.maxPageBytes);
    if (this.#file.epoch !== this.opening.epoch) throw storageFenced(this.name);
    this.#apply(commit);
  }

  #apply(commit: Commit): void {
    const file = this.#file;
    if (commit.journal !== undefined) {
      file.journal.set(commit.journal.number, { number: commit.journal.number, text: commit.journal.text });
      this.#nextJournal += 1;
    }
    for (const page of commit.writePages ?? []) putPage(file, page);
    for (const number of commit.dropPages ?? []) dropPage(file, number);
    if (commit.head !== undefined) file.head = commit.head;
    if (commit.truncateJournal !== undefined) truncate(file, commit.truncateJournal);
  }
}

/** Raises the epoch and claims the next journal number: the number that a stale owner would write next. */
function takeOwnership(file: MemoryFile): Opening {
  const journal = [...file.journal.values()];
  const claim = Math.max(file.journalFloor, (journal.at(-1)?.number ?? 0) + 1);
  file.epoch += 1;
  file.journalFloor = claim + 1;
  return { epoch: file.epoch, head: file.head, journal, nextJournal: claim + 1 };
}

function putPage(file: MemoryFile, { number, value }: Page): void {
  dropPage(file, number);
  // The writer may reuse its buffer, as it may with a backend that copies to a disk.
  file.pages.set(number, typeof value === 'string' ? value : value.slice());
  file.pageBytes += value.length;
}

function dropPage(file: MemoryFile, number: PageNumber): void {
  file.pageBytes -= file.pages.get(number)?.length ?? 0;
  file.pages.delete(number);
}

function truncate(file: MemoryFile, below: number): void {
  for (const number of file.journal.keys()) {
    if (number >= below) break;
    file.journal.delete(number);
  }
  file.journalFloor = Math.max(file.journalFloor, below);
}
