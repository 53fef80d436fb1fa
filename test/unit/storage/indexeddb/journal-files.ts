/** The journal in files beside IndexedDB, on a made-up file system that can be looked into and made to fail. */
import '../backends.ts';
import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { createIndexedDbPageStore } from '../../../../src/storage/indexeddb/indexeddb-page-store.ts';
import type { GetDirectory } from '../../../../src/storage/indexeddb/journal-folder.ts';
import { createOpfsJournalFiles } from '../../../../src/storage/indexeddb/opfs-journal-files.ts';
import type { PageFile, PageStore } from '../../../../src/storage/page-store.ts';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import { patient } from '../../../support/patience.ts';
import { FakeFileSystem } from '../fake-file-system.ts';

export let factory: IDBFactory;
export let files: FakeFileSystem;
export const stores: PageStore[] = [];

/** With an empty file system and no databases. */
export async function startAgain(): Promise<void> {
  for (const store of stores.splice(0)) await store.close();
  factory = new IDBFactory();
  files = new FakeFileSystem();
}

/** Gives each test of a file a file system and an IndexedDB of its own, and closes its stores. */
export function useJournalFiles(): void {
  beforeEach(startAgain);

  afterEach(async () => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    files.onOperation = () => undefined;
    for (const store of stores.splice(0)) await store.close().catch(() => undefined);
  });
}

export function createStore(recordsBefore = 1, getDirectory: GetDirectory = files.getDirectory): PageStore {
  const journalFiles = createOpfsJournalFiles(getDirectory, recordsBefore);
  const store = createIndexedDbPageStore({
    prefix: 'settee:',
    indexedDB: factory,
    journalFiles: async () => journalFiles,
  });
  stores.push(store);
  return store;
}

/** Appends numbered records until `until` says that it is enough, and gives their texts. */
export class Writing {
  readonly file: PageFile;
  readonly texts: string[] = [];
  next: number;

  constructor(file: PageFile) {
    this.file = file;
    this.next = file.opening.nextJournal;
  }

  async append(text = `record ${this.next}`): Promise<void> {
    await this.file.commit(relaxed({ journal: { number: this.next, text } }));
    this.texts.push(text);
    this.next += 1;
  }

  async appendMany(count: number): Promise<void> {
    for (let index = 0; index < count; index += 1) await this.append();
  }

  /** Writes until a record is in a segment, the only one. */
  async reachFile(): Promise<void> {
    await this.reachSegment();
    expect(files.paths).toHaveLength(1);
  }

  async reachSegment(): Promise<void> {
    await vi.waitFor(async () => {
      const before = files.paths.map(sizeOf);
      await this.append();
      expect(files.paths.map(sizeOf)).not.toEqual(before);
      expect(Math.max(...files.paths.map(sizeOf))).toBeGreaterThan(8);
    }, patient);
  }
}

export async function begin(recordsBefore = 1): Promise<Writing> {
  return new Writing(await createStore(recordsBefore).open('file', 'create'));
}

/** As the next owner finds it, whether the one before was closed or not. */
export async function reopened(recordsBefore = 1): Promise<{ readonly file: PageFile; readonly texts: string[] }> {
  const file = await createStore(recordsBefore).open('file', 'open');
  return { file, texts: file.opening.journal.map(({ text }) => text) };
}

export function fileAt(path: string): { content: Uint8Array; room: number; refusesBeyondRoom: boolean } {
  const [, folder = '', name = ''] = path.split('/');
  return must(files.root.folders.get('settee-journals')?.folders.get(folder)?.files.get(name));
}

function sizeOf(path: string): number {
  return fileAt(path).content.length;
}

async function inDatabase(store: string): Promise<unknown[]> {
  const database = await new Promise<IDBDatabase>((resolve, reject) => {
    const request = factory.open('settee:file');
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const request = database.transaction(store).objectStore(store).getAll();
  return new Promise((resolve) => {
    request.onsuccess = () => {
      database.close();
      resolve(request.result);
    };
  });
}

export const textsInDatabase = async (): Promise<unknown[]> =>
  (await inDatabase('journal')).filter((value) => typeof value === 'string');

/** A way to the file system that is closed at first, as to a tab that is frozen there. */
export function createGate() {
  let [open, reach] = [() => {}, () => {}];
  const isOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const pass: GetDirectory = async () => {
    reach();
    await isOpen;
    return files.getDirectory();
  };
  return { pass, reached, open };
}

/** As when their process ends. */
export function closeHandles(): void {
  for (const folder of files.root.folders.get('settee-journals')?.folders.values() ?? []) {
    for (const file of folder.files.values()) for (const handle of [...file.open]) handle.close();
  }
}
