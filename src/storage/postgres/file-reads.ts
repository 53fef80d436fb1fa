import type { FileLife } from '../open-files.ts';
import type { PageNumber } from '../page-store.ts';
import { storageCorrupt } from '../storage-errors.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { PageReader } from './page-reader.ts';
import { toDatabaseError } from './postgres-errors.ts';
import { ReadAhead, type ReadAheadRoom } from './read-ahead.ts';
import type { FileStatements } from './statements.ts';

interface FileReadsOptions {
  readonly name: string;
  readonly id: string;
  readonly pool: ConnectionPool;
  readonly statements: FileStatements;
  readonly room: ReadAheadRoom;
  readonly life: FileLife;
}

/** Reads of the pages of a file, for its owner and for those that follow it. */
export class FileReads {
  readonly #name: string;
  readonly #life: FileLife;
  readonly #reader: PageReader;
  readonly #pages: ReadAhead;

  constructor({ name, id, pool, statements, room, life }: FileReadsOptions) {
    this.#name = name;
    this.#life = life;
    this.#reader = new PageReader({ pool, statements, file: id });
    this.#pages = new ReadAhead({ room, read: (page) => this.#reader.read(page) });
  }

  read(page: PageNumber, kind: 'text'): Promise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): Promise<Uint8Array | undefined>;
  read(page: PageNumber, kind: 'text' | 'bytes'): Promise<string | Uint8Array | undefined>;
  async read(page: PageNumber, kind: 'text' | 'bytes'): Promise<string | Uint8Array | undefined> {
    this.#life.mustBeOpen();
    const value = await this.named('a read', () => this.#pages.read(page));
    if (value !== undefined && (typeof value === 'string') !== (kind === 'text')) {
      throw storageCorrupt(this.#name, `page ${page} does not hold ${kind}`);
    }
    return value;
  }

  async readRange(page: PageNumber, offset: number, length: number): Promise<Uint8Array | undefined> {
    this.#life.mustBeOpen();
    return this.named('a read', async () => {
      const known = this.#pages.isAhead(page) ? await this.#pages.readRange(page, offset, length) : undefined;
      return known ?? this.#reader.readRange(page, offset, length);
    });
  }

  readAhead(pages: readonly PageNumber[]): void {
    if (this.#life.isOpen) this.#pages.announce(pages);
  }

  /** Forgets pages that are no longer in the file. */
  forget(pages: readonly PageNumber[]): void {
    this.#pages.forget(pages);
  }

  close(): void {
    this.#pages.close();
  }

  /** Runs an operation. Its failures are those of the storage; once the file is closed, why it is. */
  async named<T>(what: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      throw this.#life.refusal() ?? toDatabaseError(error, this.#name, what);
    }
  }
}
