import { type Crc32, crc32 } from '../../base/shared/crc32.ts';
import { assertFileName } from '../file-name.ts';
import { OpenFiles } from '../open-files.ts';
import { MAX_PAGE_BYTES, type PageFile, type PageStore, type PageStoreSupport } from '../page-store.ts';
import { storageExists, storageMissing, storageNewerFormat } from '../storage-errors.ts';
import { createMemoryFile, MEMORY_FORMAT, type MemoryFile, MemoryMedium } from './memory-medium.ts';
import { MemoryPageFile } from './memory-page-file.ts';

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
  readonly #open = new OpenFiles<MemoryPageFile>();

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
