/**
 * Copies of whole files between storages, below databases and indexes: pages, journal records and the epoch keep their numbers, so that
 * a copy is what the original was to everyone who knows it.
 */
import type { JournalRecord, PageNumber } from './page-store.ts';
import { storageCorrupt } from './storage-errors.ts';

/** What a file is besides its pages. */
export interface FileState {
  readonly epoch: number;
  readonly head: string | undefined;
  /** In ascending order, without claims. */
  readonly journal: readonly JournalRecord[];
  /** Journal records below this number were removed. */
  readonly truncated: number;
  /** The lowest number that the next owner may claim. */
  readonly nextClaim: number;
}

/** A page as the bytes that a storage holds: of a text its UTF-8. `unknown`: the storage does not say what it is, nor does its checksum. */
export interface StoredPage {
  readonly number: PageNumber;
  readonly kind: 'text' | 'bytes' | 'unknown';
  readonly bytes: Uint8Array;
}

/** A file that does not change while it is read. */
export interface ReadableFile {
  readonly name: string;
  readonly state: FileState;
  countPages(): Promise<number>;
  /** Yields the pages at or above `from`, ascending, in batches of some megabytes. */
  pages(from: PageNumber): AsyncIterable<readonly StoredPage[]>;
}

/** The files of a storage, for reading, without becoming their owner. */
export interface FileSource {
  list(): Promise<string[]>;
  /** Resolves to undefined if there is no such file. Fails with `storage_corrupt` if its state can't be read. */
  use<T>(file: string, use: (file: ReadableFile) => Promise<T>): Promise<T | undefined>;
}

/** A copy that no one finds under the file's name yet. What is written to it stays, also if the process ends. */
export interface FileDraft {
  /** Whether `complete` was called, perhaps by an earlier process. */
  readonly isComplete: boolean;
  /** Above all pages that were written; the next one to write is at or above this. */
  readonly nextPage: PageNumber;
  /** Pages above those that were written before. Durable when the promise resolves. */
  write(pages: readonly StoredPage[]): Promise<void>;
  pages(from: PageNumber): AsyncIterable<readonly StoredPage[]>;
  /** Marks it as complete. `bytes`: of all pages. */
  complete(bytes: number): Promise<void>;
  close(): Promise<void>;
}

export interface FileTarget {
  /** Begins a copy of a file, or continues one that was begun from the same state. */
  draft(file: string, state: FileState): Promise<FileDraft>;
  /** Gives complete copies the names of their files. Fails with `storage_exists` if one of them is taken. */
  publish(files: readonly string[]): Promise<void>;
  /** Removes all copies that were not published. */
  removeDrafts(): Promise<void>;
}

export interface CopiedPages {
  readonly pages: number;
  readonly bytes: number;
}

/** Whether two files hold the same: equal heads lead to equal pages, since pages never change. */
export function isSameState(left: FileState, right: FileState): boolean {
  const { length } = left.journal;
  return (
    left.head === right.head &&
    length === right.journal.length &&
    left.journal.every(
      ({ number, text }, at) => right.journal[at]?.number === number && right.journal[at].text === text,
    )
  );
}

/**
 * Copies a file into a draft, and then reads the draft again and compares it with the file, page by page. Continues a draft that was
 * interrupted. `onPages` gets the number of pages that are copied or compared. Fails with `storage_corrupt` if the copy differs.
 */
export async function copyFile(
  file: ReadableFile,
  target: FileTarget,
  onPages: (count: number) => void = () => undefined,
): Promise<CopiedPages> {
  const draft = await target.draft(file.name, file.state);
  try {
    if (!draft.isComplete) await write(file, draft, onPages);
    const compared = await compare(file, draft, onPages);
    if (!draft.isComplete) await draft.complete(compared.bytes);
    return compared;
  } finally {
    await draft.close();
  }
}

/** Copies a file of which there is no draft, and does not compare the copy: pages have checksums, which are checked whenever they are read. */
export async function copyFileOnce(file: ReadableFile, target: FileTarget): Promise<CopiedPages> {
  const draft = await target.draft(file.name, file.state);
  try {
    const written = await write(file, draft);
    await draft.complete(written.bytes);
    return written;
  } finally {
    await draft.close();
  }
}

async function write(
  file: ReadableFile,
  draft: FileDraft,
  onPages: (count: number) => void = () => undefined,
): Promise<CopiedPages> {
  const written = { pages: 0, bytes: 0 };
  for await (const pages of ahead(file.pages(draft.nextPage))) {
    await draft.write(pages);
    written.pages += pages.length;
    written.bytes += pages.reduce((sum, page) => sum + page.bytes.length, 0);
    onPages(pages.length);
  }
  return written;
}

async function compare(file: ReadableFile, draft: FileDraft, onPages: (count: number) => void): Promise<CopiedPages> {
  const copies = single(ahead(draft.pages(0)));
  const figures = { pages: 0, bytes: 0 };
  try {
    for await (const originals of ahead(file.pages(0))) {
      for (const original of originals) {
        const { value: copy } = await copies.next();
        if (copy === undefined || !isSamePage(original, copy)) throw differs(file.name, original.number);
        figures.bytes += original.bytes.length;
      }
      figures.pages += originals.length;
      onPages(originals.length);
    }
    const { value: surplus } = await copies.next();
    if (surplus !== undefined) throw differs(file.name, surplus.number);
    return figures;
  } finally {
    await copies.return(undefined);
  }
}

function isSamePage(left: StoredPage, right: StoredPage): boolean {
  const isSameKind = left.kind === right.kind || left.kind === 'unknown' || right.kind === 'unknown';
  if (left.number !== right.number || !isSameKind || left.bytes.length !== right.bytes.length) return false;
  for (let at = 0; at < left.bytes.length; at += 1) if (left.bytes[at] !== right.bytes[at]) return false;
  return true;
}

function differs(file: string, page: PageNumber): Error {
  return storageCorrupt(file, `page ${page} of its copy differs from the original, which was not changed`);
}

/** Requests each batch while the caller works on the one before. */
async function* ahead<T>(batches: AsyncIterable<T>): AsyncGenerator<T, undefined> {
  const iterator = batches[Symbol.asyncIterator]();
  try {
    for (let next = iterator.next(); ; ) {
      const { value, done } = await next;
      if (done) return undefined;
      next = iterator.next();
      // It is awaited only if the caller goes on.
      next.catch(() => undefined);
      yield value;
    }
  } finally {
    await iterator.return?.();
  }
}

async function* single<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T, undefined> {
  for await (const batch of batches) yield* batch;
  return undefined;
}
