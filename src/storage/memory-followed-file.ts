import { type MemoryFile, readMemoryPage } from './memory-medium.ts';
import { FileLife } from './open-files.ts';
import type { FollowedFile, FollowedPoint, FollowedState, PageNumber } from './page-store.ts';
import { storageClosed, storageDeleted } from './storage-errors.ts';

/** A file in memory as one that does not own it sees it. */
export class MemoryFollowedFile implements FollowedFile {
  readonly name: string;
  readonly #file: MemoryFile;
  readonly #onClosed: (file: MemoryFollowedFile) => void;
  readonly #life = new FileLife();
  readonly #holds = new Set<() => void>();

  constructor(name: string, file: MemoryFile, onClosed: (file: MemoryFollowedFile) => void) {
    this.name = name;
    this.#file = file;
    this.#onClosed = onClosed;
  }

  poll(since?: FollowedPoint, renews = false): FollowedState | undefined {
    this.#mustBeUsable();
    const { epoch, head, journal } = this.#file;
    const continues = since !== undefined && since.epoch === epoch && since.head === head;
    const after = continues ? since.record : 0;
    const records = [...journal.values()].filter(({ number }) => number > after);
    if (continues && records.length === 0 && !renews) return undefined;
    const point = { epoch, head, record: records.at(-1)?.number ?? after };
    return { point, continues, records, release: this.#hold() };
  }

  read(page: PageNumber, kind: 'text'): string | undefined;
  read(page: PageNumber, kind: 'bytes'): Uint8Array | undefined;
  read(page: PageNumber, kind: 'text' | 'bytes'): string | Uint8Array | undefined {
    this.#mustBeUsable();
    return readMemoryPage(this.#file, this.name, page, kind);
  }

  async size(): Promise<number> {
    this.#mustBeUsable();
    return this.#file.pageBytes;
  }

  async close(): Promise<void> {
    this.#life.refuse(() => storageClosed(`File "${this.name}"`));
    for (const release of [...this.#holds]) release();
    this.#onClosed(this);
  }

  #hold(): () => void {
    const end = this.#file.followers.hold();
    const release = (): void => {
      this.#holds.delete(release);
      end();
    };
    this.#holds.add(release);
    return release;
  }

  #mustBeUsable(): void {
    if (this.#file.destroyed) this.#life.refuse(() => storageDeleted(this.name));
    this.#life.mustBeOpen();
  }
}
