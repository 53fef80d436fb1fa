import type { MaybePromise } from '../base/shared/maybe-promise.ts';
import type {
  Commit,
  FollowedFile,
  Opening,
  PageFile,
  PageNumber,
  PageStore,
  PageStoreSupport,
  PageValue,
} from './page-store.ts';
import { type ReservedSpace, SpaceReserve } from './space-reserve.ts';

/**
 * Makes a store that reserves space for when there is none (`space-reserve.ts`). A commit that fails with `storage_full` is retried with
 * the part of the reserve that it names. A commit that names none is refused while a part is given up and there is no room to take it back.
 *
 * @param grows whether to reserve space if there is none yet, or too little; default: true.
 */
export function withReserve(store: PageStore, space: ReservedSpace, { grows = true } = {}): PageStore {
  return new ReservingStore(store, space, grows);
}

class ReservingStore implements PageStore {
  readonly follow?: (file: string) => Promise<FollowedFile>;
  readonly #store: PageStore;
  readonly #reserve: SpaceReserve;
  readonly #open = new Set<ReservingFile>();

  constructor(store: PageStore, space: ReservedSpace, grows: boolean) {
    this.#store = store;
    if (store.follow !== undefined) this.follow = store.follow.bind(store);
    const storedBytes = (): Promise<number> => this.#storedBytes();
    this.#reserve = new SpaceReserve(space, { storedBytes, grows, shrinks: store.supports.shrinks });
  }

  get supports(): PageStoreSupport {
    return this.#store.supports;
  }

  list(): Promise<string[]> {
    return this.#store.list();
  }

  async open(name: string, mode: 'create' | 'open'): Promise<PageFile> {
    void this.#reserve.measure();
    if (mode === 'create') await this.#reserve.admit(name);
    const open = (): Promise<PageFile> => this.#store.open(name, mode);
    const opened = mode === 'create' ? await open() : await this.#reserve.run('deletions', open);
    const file = new ReservingFile(opened, this.#reserve, () => this.#open.delete(file));
    this.#open.add(file);
    return file;
  }

  async destroy(file: string): Promise<void> {
    await this.#store.destroy(file);
    this.#reserve.noteFreed();
  }

  get openFiles(): number {
    return this.#store.openFiles ?? 0;
  }

  async close(): Promise<void> {
    await this.#reserve.close();
    await this.#store.close();
  }

  async #storedBytes(): Promise<number> {
    const sizes = await Promise.all([...this.#open].map((file) => file.size().catch(() => 0)));
    return sizes.reduce((sum, size) => sum + size, 0);
  }
}

class ReservingFile implements PageFile {
  readonly name: string;
  readonly opening: Opening;
  readonly readRange?: NonNullable<PageFile['readRange']>;
  readonly readAhead?: NonNullable<PageFile['readAhead']>;
  readonly append?: NonNullable<PageFile['append']>;
  readonly compact?: NonNullable<PageFile['compact']>;
  readonly backup?: NonNullable<PageFile['backup']>;
  readonly whenFollowersPass?: NonNullable<PageFile['whenFollowersPass']>;
  readonly #file: PageFile;
  readonly #reserve: SpaceReserve;
  readonly #onClosed: () => void;

  constructor(file: PageFile, reserve: SpaceReserve, onClosed: () => void) {
    this.name = file.name;
    this.opening = file.opening;
    this.#file = file;
    this.#reserve = reserve;
    this.#onClosed = onClosed;
    if (file.readRange !== undefined) this.readRange = file.readRange.bind(file);
    if (file.readAhead !== undefined) this.readAhead = file.readAhead.bind(file);
    const append = file.append?.bind(file);
    if (append !== undefined) this.append = (record) => reserve.admitsAll && append(record);
    if (file.compact !== undefined) this.compact = file.compact.bind(file);
    if (file.backup !== undefined) this.backup = file.backup.bind(file);
    if (file.whenFollowersPass !== undefined) this.whenFollowersPass = file.whenFollowersPass.bind(file);
  }

  read(page: PageNumber, kind: 'text'): MaybePromise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): MaybePromise<Uint8Array | undefined>;
  read(page: PageNumber, kind: 'text' | 'bytes'): MaybePromise<PageValue | undefined> {
    return kind === 'text' ? this.#file.read(page, 'text') : this.#file.read(page, 'bytes');
  }

  commit(commit: Commit): Promise<void> {
    if (commit.reserve === undefined && this.#reserve.admitsAll) return this.#file.commit(commit);
    return this.#commitWithReserve(commit);
  }

  get isScarce(): boolean {
    return this.#reserve.isGivenUp;
  }

  pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]> {
    return this.#file.pageNumbers(from);
  }

  isCurrent(): Promise<boolean> {
    return this.#file.isCurrent();
  }

  size(): Promise<number> {
    return this.#file.size();
  }

  close(): Promise<void> {
    this.#onClosed();
    return this.#file.close();
  }

  async #commitWithReserve(commit: Commit): Promise<void> {
    const { reserve, dropPages, truncateJournal } = commit;
    if (reserve === undefined) {
      await this.#reserve.admit(this.name);
      return this.#file.commit(commit);
    }
    await this.#reserve.run(reserve, () => this.#file.commit(commit));
    if (dropPages !== undefined) this.#reserve.noteFreed();
    if (truncateJournal !== undefined) this.#reserve.growSoon();
  }
}
