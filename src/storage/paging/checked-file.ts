import { type DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { Crc32 } from '../../base/shared/crc32.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { atOnce, type CooperativeTask, runCooperatively } from '../../base/shared/turn.ts';
import type { Commit, JournalRecord, Opening, Page, PageFile, PageNumber, PageValue } from '../page-store.ts';
import { addToBytes, addToRecord, addToText, BYTES_OVERHEAD, checkBytes, checkText } from './checksums.ts';
import { damagedPageError } from './page-errors.ts';

/** Number of characters or bytes whose checksums are computed between two looks at the clock. */
const STEP_LENGTH = 1_048_576;

interface CheckedFileOptions {
  readonly crc32: Crc32;
  /** Pages with a number below this were written by a release without checksums. */
  readonly checkedFrom: PageNumber;
  /** Gets the error of a commit that found the file damaged. */
  readonly onDamage?: ((error: DatabaseError) => void) | undefined;
}

/**
 * A file whose pages and journal records have checksums. A page is checked each time it comes from the medium: `read`
 * fails with `storage_corrupt` if the checksum is wrong. Three things are left to other code, which knows more about them: a part
 * of a page (`readRange`), the records that were found at opening (`checkRecord`), and the head (`checkHead`).
 */
export class CheckedFile implements PageFile {
  readonly readRange?: NonNullable<PageFile['readRange']>;
  readonly readAhead?: NonNullable<PageFile['readAhead']>;
  readonly append?: NonNullable<PageFile['append']>;
  readonly compact?: NonNullable<PageFile['compact']>;
  readonly whenFollowersPass?: NonNullable<PageFile['whenFollowersPass']>;
  readonly #file: PageFile;
  readonly #crc32: Crc32;
  readonly #checkedFrom: PageNumber;
  readonly #onDamage: ((error: DatabaseError) => void) | undefined;
  /** While a commit is being prepared: settles when all requested commits have been passed to the file. */
  #preparing: Promise<void> | undefined;

  constructor(file: PageFile, { crc32, checkedFrom, onDamage }: CheckedFileOptions) {
    this.#file = file;
    this.#onDamage = onDamage;
    this.#crc32 = crc32;
    this.#checkedFrom = checkedFrom;
    if (file.readRange !== undefined) this.readRange = file.readRange.bind(file);
    if (file.readAhead !== undefined) this.readAhead = file.readAhead.bind(file);
    if (file.append !== undefined) this.append = (record) => this.#append(record);
    if (file.compact !== undefined) this.compact = file.compact.bind(file);
    if (file.whenFollowersPass !== undefined) this.whenFollowersPass = file.whenFollowersPass.bind(file);
  }

  get name(): string {
    return this.#file.name;
  }

  get opening(): Opening {
    return this.#file.opening;
  }

  read(page: PageNumber, kind: 'text'): MaybePromise<string | undefined>;
  read(page: PageNumber, kind: 'bytes'): MaybePromise<Uint8Array | undefined>;
  read(page: PageNumber, kind: 'text' | 'bytes'): MaybePromise<PageValue | undefined> {
    const value = kind === 'text' ? this.#file.read(page, 'text') : this.#file.read(page, 'bytes');
    if (page < this.#checkedFrom) return value;
    return value instanceof Promise ? value.then((late) => this.#check(page, late)) : this.#check(page, value);
  }

  /** Returns a page of bytes, even if its checksum is wrong: for callers that can tell which part of it is sound. */
  readDamaged(page: PageNumber): MaybePromise<Uint8Array | undefined> {
    return whenReady(this.#file.read(page, 'bytes'), (stored) =>
      page < this.#checkedFrom ? stored : stored?.subarray(0, Math.max(0, stored.length - BYTES_OVERHEAD)),
    );
  }

  #check(page: PageNumber, stored: PageValue | undefined): PageValue | undefined {
    if (stored === undefined) return undefined;
    const value =
      typeof stored === 'string' ? checkText(this.#crc32, page, stored) : checkBytes(this.#crc32, page, stored);
    if (value === undefined) throw this.#damaged(page);
    return value;
  }

  #damaged(page: PageNumber): DatabaseError {
    return damagedPageError(this.name, page);
  }

  /** Commits reach the file in the order in which they are requested. */
  commit(commit: Commit): Promise<void> {
    return this.#commitInOrder(commit).catch((error: unknown) => this.#noteDamage(error));
  }

  #append(record: JournalRecord): MaybePromise<boolean> {
    if (this.#preparing !== undefined) return false;
    const appended = this.#file.append?.(atOnce(addToRecord(this.#crc32, record))) ?? false;
    return appended instanceof Promise ? appended.catch((error: unknown) => this.#noteDamage(error)) : appended;
  }

  #noteDamage(error: unknown): never {
    if (isDatabaseError(error, 'storage_corrupt')) this.#onDamage?.(error);
    throw error;
  }

  #commitInOrder(commit: Commit): Promise<void> {
    const checked = runCooperatively(this.#withChecksums(commit));
    if (!(checked instanceof Promise) && this.#preparing === undefined) return this.#file.commit(checked);
    const before = this.#preparing;
    const begun = Promise.all([checked, before]).then(([prepared]) => ({ committed: this.#file.commit(prepared) }));
    const preparing = begun.then(nothing, nothing).then(() => {
      if (this.#preparing === preparing) this.#preparing = undefined;
    });
    this.#preparing = preparing;
    return begun.then(({ committed }) => committed);
  }

  *#withChecksums({ journal, writePages, ...others }: Commit): CooperativeTask<Commit> {
    const pages: Page[] = [];
    let length = 0;
    for (const page of writePages ?? []) {
      pages.push(this.#withChecksum(page));
      length += page.value.length;
      if (length < STEP_LENGTH) continue;
      length = 0;
      yield;
    }
    return {
      ...others,
      ...(journal && { journal: yield* addToRecord(this.#crc32, journal) }),
      ...(writePages && { writePages: pages }),
    };
  }

  #withChecksum({ number, value }: Page): Page {
    const stored =
      typeof value === 'string' ? addToText(this.#crc32, number, value) : addToBytes(this.#crc32, number, value);
    return { number, value: stored };
  }

  pageNumbers(from: PageNumber): AsyncIterable<readonly PageNumber[]> {
    return this.#file.pageNumbers(from);
  }

  get isScarce(): boolean {
    return this.#file.isScarce ?? false;
  }

  isCurrent(): Promise<boolean> {
    return this.#file.isCurrent();
  }

  size(): Promise<number> {
    return this.#file.size();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

function nothing(): void {}
