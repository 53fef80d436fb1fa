import './backends.ts';
import { IDBFactory } from 'fake-indexeddb';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { isDatabaseError } from '../../../src/base/errors/database-error.ts';
import { must } from '../../../src/base/shared/assert.ts';
import { crc32 } from '../../../src/base/shared/crc32.ts';
import { mergeJournal } from '../../../src/storage/indexeddb/file-claim.ts';
import { createIndexedDbPageStore } from '../../../src/storage/indexeddb/indexeddb-page-store.ts';
import type { GetDirectory } from '../../../src/storage/indexeddb/journal-folder.ts';
import { createOpfsJournalFiles } from '../../../src/storage/indexeddb/opfs-journal-files.ts';
import type { JournalRecord, PageFile, PageStore } from '../../../src/storage/page-store.ts';
import { rejects, relaxed } from '../../conformance/storage/expectations.ts';
import { patient } from '../../support/patience.ts';
import { FakeFileSystem } from './fake-file-system.ts';

/** The journal in files beside IndexedDB, on a made-up file system that can be looked into and made to fail. */
let factory: IDBFactory;
let files: FakeFileSystem;
let stores: PageStore[];

beforeEach(() => {
  factory = new IDBFactory();
  files = new FakeFileSystem();
  stores = [];
});

afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  files.onOperation = () => undefined;
  for (const store of stores) await store.close().catch(() => undefined);
});

function createStore(recordsBefore = 1, getDirectory: GetDirectory = files.getDirectory): PageStore {
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
class Writing {
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

async function begin(recordsBefore = 1): Promise<Writing> {
  return new Writing(await createStore(recordsBefore).open('file', 'create'));
}

/** As the next owner finds it, whether the one before was closed or not. */
async function reopened(recordsBefore = 1): Promise<{ readonly file: PageFile; readonly texts: string[] }> {
  const file = await createStore(recordsBefore).open('file', 'open');
  return { file, texts: file.opening.journal.map(({ text }) => text) };
}

function fileAt(path: string): { content: Uint8Array; room: number; refusesBeyondRoom: boolean } {
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

const textsInDatabase = async (): Promise<unknown[]> =>
  (await inDatabase('journal')).filter((value) => typeof value === 'string');

describe('journal records', () => {
  test('are written to a file once there is one, and the next owner has them all', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(5);
    const stored = await textsInDatabase();
    expect(stored.length).toBeLessThan(writing.texts.length - 4);
    expect(stored).toEqual(writing.texts.slice(0, stored.length));
    expect((await reopened()).texts).toEqual(writing.texts);
  });

  test('can be lost with their folder, which is reported until the file was closed properly', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(3);
    expect((await reopened()).file.opening.loss).toBeUndefined();
    const stored = await textsInDatabase();
    files.root.folders.delete('settee-journals');
    const { file, texts } = await reopened();
    expect(texts).toEqual(stored);
    expect(texts.length).toBeLessThan(writing.texts.length);
    expect(file.opening.loss).toContain('settee-journals');
    await new Writing(file).appendMany(3);
    await file.close();
    const { file: next, texts: later } = await reopened();
    expect(later).toHaveLength(texts.length + 3);
    expect(next.opening.loss).toBeUndefined();
  });

  test('have no file if few are appended before the journal is truncated', async () => {
    const writing = await begin(8);
    for (let round = 0; round < 5; round += 1) {
      await writing.appendMany(7);
      await writing.file.commit(relaxed({ head: 'h', truncateJournal: writing.next }));
    }
    expect(files.paths).toEqual([]);
    await writing.appendMany(9);
    await vi.waitFor(() => expect(files.paths).toHaveLength(1), patient);
  });

  test('are written to IndexedDB in between if they have pages, a head or strict durability', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.append();
    const page = { number: 1, value: 'page' };
    await writing.file.commit(
      relaxed({ journal: { number: writing.next++, text: 'with a page' }, writePages: [page] }),
    );
    await writing.append();
    await writing.file.commit(relaxed({ journal: { number: writing.next++, text: 'with a head' }, head: 'head' }));
    await writing.file.commit({ durability: 'strict', journal: { number: writing.next++, text: 'durable' } });
    const { texts, file } = await reopened();
    expect(texts.slice(-5)).toEqual([
      expect.stringMatching('record'),
      'with a page',
      expect.stringMatching('record'),
      'with a head',
      'durable',
    ]);
    expect(texts).toHaveLength(writing.next - 2);
    expect(file.opening.head).toBe('head');
  });

  test("are written to IndexedDB if they can't be encoded in UTF-8", async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.append('half a character: \ud83d');
    expect(await textsInDatabase()).toContain('half a character: \ud83d');
    await writing.append('whole: 🙂é\u0000');
    expect((await reopened()).texts).toEqual(writing.texts);
  });
});

describe('durability with journal files', () => {
  test.for(['commit', 'close'] as const)('a strict %s copies records from files to IndexedDB', async (how) => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(3);
    if (how === 'commit') await writing.file.commit({ durability: 'strict' });
    else await writing.file.close();
    expect(await textsInDatabase()).toEqual(writing.texts);
    files.root.folders.clear();
    expect((await reopened()).texts).toEqual(writing.texts);
  });

  test('a strict commit also copies what a previous owner left in files', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(3);
    const { file } = await reopened();
    await file.commit({ durability: 'strict' });
    files.root.folders.clear();
    expect((await reopened()).texts).toEqual(writing.texts);
  });

  test('a segment is removed after the truncation that frees it is durable', async () => {
    const writing = await begin();
    await writing.reachFile();
    const [segment] = files.paths;
    const order: string[] = [];
    const transaction = IDBDatabase.prototype.transaction;
    vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function (this: IDBDatabase, ...call) {
      const made = transaction.apply(this, call);
      const durability = call[2]?.durability;
      made.addEventListener('complete', () => order.push(`${durability} commit`));
      return made;
    });
    files.onOperation = (name) => {
      if (name === 'removeEntry') order.push('removal');
    };
    await writing.file.commit(relaxed({ head: 'head', truncateJournal: writing.next }));
    await vi.waitFor(() => expect(files.paths).not.toContain(segment), patient);
    expect(order).toEqual(['relaxed commit', 'strict commit', 'removal']);
  });

  test("a head doesn't survive without a previous record that it keeps", async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(3);
    await writing.file.commit(relaxed({ head: 'behind them', truncateJournal: writing.next - 2 }));
    // A power cut that takes the files.
    files.root.folders.clear();
    const { texts, file } = await reopened();
    expect(file.opening.head).toBe('behind them');
    expect(texts).toEqual(writing.texts.slice(-2));
  });

  test('closing while a segment is begun leaves no segment and no note of one', async () => {
    const gate = createGate();
    const store = createStore(1, gate.pass);
    const writing = new Writing(await store.open('file', 'create'));
    await writing.appendMany(2);
    await gate.reached;
    const closed = writing.file.close();
    gate.open();
    await closed;
    await store.close();
    const plain = createIndexedDbPageStore({ prefix: 'settee:', indexedDB: factory });
    stores.push(plain);
    expect((await plain.open('file', 'open')).opening.journal.map(({ text }) => text)).toEqual(writing.texts);
    await vi.waitFor(() => expect(files.paths).toEqual([]), patient);
  });

  test('records after a truncation that keeps them are kept', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(4);
    await writing.file.commit(relaxed({ head: 'head', truncateJournal: writing.next - 2 }));
    await writing.appendMany(3);
    expect((await reopened()).texts).toEqual(writing.texts.slice(-5));
  });

  test('a properly closed file has no segments, and none are looked for when it is opened', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.file.commit(relaxed({ head: 'head', truncateJournal: writing.next }));
    await writing.append();
    await writing.file.close();
    expect(files.paths).toEqual([]);
    const asked: string[] = [];
    files.onOperation = (name) => asked.push(name);
    expect((await reopened()).texts).toEqual(writing.texts.slice(-1));
    expect(asked).toEqual([]);
  });

  test('a removed file removes its segments, and a new one of that name has none of them', async () => {
    const writing = await begin();
    await writing.reachFile();
    await must(stores[0]).destroy('file');
    expect(files.paths).toEqual([]);
    const again = new Writing(await createStore().open('file', 'create'));
    await again.append('new');
    expect((await reopened()).texts).toEqual(['new']);
  });

  test('segments of an earlier file of the same name are ignored and removed', async () => {
    const writing = await begin();
    await writing.reachFile();
    const [stranger = ''] = files.paths;
    closeHandles();
    await new Promise((resolve) => {
      factory.deleteDatabase('settee:file').onsuccess = resolve;
    });
    const again = new Writing(await createStore().open('file', 'create'));
    await vi.waitFor(async () => {
      await again.append();
      expect(files.paths).toHaveLength(1);
      expect(files.paths).not.toContain(stranger);
    }, patient);
    await again.appendMany(3);
    expect((await reopened()).texts).toEqual(again.texts);
  });
});

describe('owners of journal files', () => {
  test('a replaced owner is refused whatever it writes, and none of that is found', async () => {
    const writing = await begin();
    await writing.reachFile();
    const { file: successor } = await reopened();
    await rejects('storage_fenced', () => writing.append());
    await rejects('storage_fenced', () => writing.append());
    await rejects('storage_fenced', () => writing.file.commit({ durability: 'strict' }));
    const page = { number: 9, value: 'p' };
    await rejects('storage_fenced', () =>
      writing.file.commit(relaxed({ journal: { number: writing.next, text: 'x' }, writePages: [page] })),
    );
    const next = new Writing(successor);
    await next.appendMany(3);
    await writing.file.close();
    expect((await reopened()).texts).toEqual([...writing.texts, ...next.texts]);
  });

  test('a record that the seal overtook has an unknown outcome, which its owner reports', async () => {
    const writing = await begin();
    await writing.reachFile();
    files.onOperation = (name) => {
      if (name !== 'write') return;
      files.onOperation = () => undefined;
      // The seal comes between the owner's first look and its second.
      fileAt(must(files.paths[0])).content[0] = 1;
    };
    await expect(writing.append('in doubt')).rejects.toMatchObject({
      code: 'write_outcome_unknown',
      reason: expect.stringContaining('may have been carried out or not'),
    });
    await rejects('storage_fenced', () => writing.append('later'));
    const { texts, file } = await reopened();
    expect(texts).toEqual([...writing.texts, 'in doubt']);
    await rejects('storage_fenced', () => writing.append('later'));
    expect(file.opening.nextJournal).toBe(writing.next + 2);
  });

  test("an owner that wakes while beginning its first segment leaves its successor's segments", async () => {
    const gate = createGate();
    const frozen = createStore(1, gate.pass);
    const writing = new Writing(await frozen.open('file', 'create'));
    await writing.appendMany(2);
    const next = new Writing((await reopened()).file);
    await next.reachFile();
    await next.appendMany(20);
    // As when its process is killed.
    closeHandles();
    gate.open();
    await frozen.close();
    expect((await reopened()).texts).toEqual([...writing.texts, ...next.texts]);
  });

  test('an owner that wakes while taking over the file seals nothing of its successor', async () => {
    const writing = await begin();
    await writing.reachFile();
    closeHandles();
    const gate = createGate();
    const late = createStore(1, gate.pass).open('file', 'open');
    const refused = rejects('storage_fenced', () => late);
    await gate.reached;
    const next = new Writing((await reopened()).file);
    await next.appendMany(2);
    await vi.waitFor(() => expect(files.paths).toHaveLength(2), patient);
    await next.appendMany(5);
    gate.open();
    await refused;
    await next.appendMany(5);
    expect((await reopened()).texts).toEqual([...writing.texts, ...next.texts]);
  });

  test.for(['head', 'record', 'nothing'] as const)(
    'a strict commit of %s is not disturbed by the removal of a segment',
    async (what) => {
      const writing = await begin();
      await writing.reachFile();
      for (let round = 0; round < 2; round += 1) {
        await writing.append();
        await writing.file.commit(relaxed({ head: 'head', truncateJournal: writing.next - 1 }));
        if (round === 0) await writing.reachSegment();
      }
      const record = { number: writing.next, text: 'durable' };
      const rest = { head: { head: 'ceiling' }, record: { journal: record }, nothing: {} }[what];
      await writing.file.commit({ durability: 'strict', ...rest });
      expect((await reopened()).texts).toEqual([...writing.texts.slice(-1), ...(what === 'record' ? ['durable'] : [])]);
    },
  );

  test('a segment begun while another owner opens the file accepts no record', async () => {
    const writing = await begin();
    let made: (() => void) | undefined;
    const making = new Promise<void>((resolve) => {
      made = resolve;
    });
    files.onOperation = (name) => {
      if (name === 'write') made?.();
    };
    await writing.appendMany(2);
    await making;
    const { file: successor } = await reopened();
    await rejects('storage_fenced', () => writing.append('stale'));
    await rejects('storage_fenced', () => writing.append('stale'));
    expect(successor.opening.journal.map(({ text }) => text)).toEqual(writing.texts);
    expect((await reopened()).texts).toEqual(writing.texts);
  });

  test('if no seal can be written, a segment is read only if no other owner has it open', async () => {
    const writing = await begin();
    await writing.reachFile();
    vi.stubGlobal('FileSystemSyncAccessHandle', undefined);
    Reflect.deleteProperty(globalThis, 'FileSystemSyncAccessHandle');
    await rejects('storage_failed', () => createStore().open('file', 'open'));
    closeHandles();
    const { texts, file } = await reopened();
    expect(texts).toEqual(writing.texts);
    const next = new Writing(file);
    await next.appendMany(20);
    expect(await textsInDatabase()).toEqual(expect.arrayContaining(next.texts));
    expect((await reopened()).texts).toEqual([...writing.texts, ...next.texts]);
  });

  test('if no seal can be written, a sealed segment is read even if another owner has it open', async () => {
    const writing = await begin();
    await writing.reachFile();
    const { file } = await reopened(99);
    const next = new Writing(file);
    await next.append();
    expect(files.paths).toHaveLength(1);
    vi.stubGlobal('FileSystemSyncAccessHandle', undefined);
    Reflect.deleteProperty(globalThis, 'FileSystemSyncAccessHandle');
    expect((await reopened()).texts).toEqual([...writing.texts, ...next.texts]);
  });
});

/** A way to the file system that is closed at first, as to a tab that is frozen there. */
function createGate() {
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
function closeHandles(): void {
  for (const folder of files.root.folders.get('settee-journals')?.folders.values() ?? []) {
    for (const file of folder.files.values()) for (const handle of [...file.open]) handle.close();
  }
}

describe('failures of the file system', () => {
  /** A workload that comes to all operations. Gives what must be found, and the record of unknown outcome at which it ended. */
  async function work(): Promise<{ readonly texts: readonly string[]; readonly inDoubt: string | undefined }> {
    const writing = await begin();
    try {
      for (let round = 0; round < 2; round += 1) {
        await writing.append();
        await new Promise((resolve) => setTimeout(resolve, 5));
        await writing.appendMany(4);
        await writing.file.commit(relaxed({ head: 'head', truncateJournal: writing.next - 2 }));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    } catch (error) {
      if (!isDatabaseError(error, 'write_outcome_unknown')) throw error;
      const kept = writing.file.opening.nextJournal + 3;
      const from = writing.next > kept + 1 ? kept - writing.file.opening.nextJournal : 0;
      return { texts: writing.texts.slice(from), inDoubt: `record ${writing.next}` };
    }
    return { texts: writing.texts.slice(-2), inDoubt: undefined };
  }

  test('are not reported while writing unless the outcome is unknown, and everything written is found', async () => {
    let total = 0;
    files.onOperation = () => {
      total += 1;
    };
    await work();
    expect(total).toBeGreaterThan(30);
    let doubts = 0;
    for (let failing = 1; failing <= total; failing += 1) {
      for (const store of stores.splice(0)) await store.close();
      factory = new IDBFactory();
      files = new FakeFileSystem();
      let count = 0;
      files.onOperation = (name) => {
        count += 1;
        if (count === failing) throw new DOMException(`${name} ${failing}`, 'UnknownError');
      };
      const { texts, inDoubt } = await work();
      files.onOperation = () => undefined;
      const found = (await reopened()).texts;
      if (inDoubt === undefined) expect(found, `operation ${failing}`).toEqual(texts);
      else {
        doubts += 1;
        expect(found, `operation ${failing}`).toEqual([...texts, inDoubt]);
      }
    }
    // The second look for a seal, behind each record in a file.
    expect(doubts).toBeGreaterThan(2);
    expect(doubts).toBeLessThan(9);
  });

  test('that prevent reading the segments fail the opening, and the next one finds all', async () => {
    const writing = await begin();
    await writing.reachFile();
    for (const operation of ['getDirectory', 'keys', 'getFileHandle', 'createSyncAccessHandle', 'read']) {
      files.onOperation = (name) => {
        if (name === operation) throw new DOMException(name, 'UnknownError');
      };
      await rejects('storage_failed', () => createStore().open('file', 'open'));
      files.onOperation = () => undefined;
    }
    const { texts, file } = await reopened();
    expect(texts).toEqual(writing.texts);
    expect(file.opening.epoch).toBe(7);
  });

  test.for([true, false])('by a full disk (told by an exception: %s) send records to IndexedDB', async (throws) => {
    const writing = await begin();
    await writing.reachFile();
    const segment = fileAt(must(files.paths[0]));
    Object.assign(segment, { room: segment.content.length + 20, refusesBeyondRoom: throws });
    await writing.appendMany(5);
    expect(await textsInDatabase()).toEqual(expect.arrayContaining(writing.texts.slice(-5)));
    expect((await reopened()).texts).toEqual(writing.texts);
  });

  test('by a damaged record end the journal, and later numbers are not reused', async () => {
    const writing = await begin();
    await writing.reachFile();
    const before = writing.texts.length;
    const { length } = fileAt(must(files.paths[0])).content;
    await writing.appendMany(3);
    const { content } = fileAt(must(files.paths[0]));
    content[length + 18] = must(content[length + 18]) ^ 1;
    const { texts, file } = await reopened();
    expect(texts).toEqual(writing.texts.slice(0, before));
    expect(file.opening.nextJournal).toBe(writing.next - 2);
    const next = new Writing(file);
    await next.appendMany(4);
    expect((await reopened()).texts).toEqual([...texts, ...next.texts]);
  });
});

test('the checksum is that of zlib', () => {
  // ITU-T V.42; the value for "123456789" is the one that descriptions of CRC-32 check themselves by.
  expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926);
  expect(crc32(new Uint8Array(0))).toBe(0);
});

describe('merging the journal', () => {
  const record = (number: number): JournalRecord => ({ number, text: `t${number}` });

  test('takes each number from where it is, and ignores claims', () => {
    const sources = { floor: 3, numbers: [3, 4, 7], values: ['t3', 9, 't7'], found: [record(6), record(5), record(1)] };
    expect(mergeJournal(sources)).toEqual({
      records: [3, 5, 6, 7].map(record),
      unsaved: [5, 6].map(record),
      lost: [],
      end: 8,
    });
  });

  test('ends at a missing number, and later records become claims', () => {
    const sources = { floor: 1, numbers: [1, 4, 5], values: ['t1', 't4', 9], found: [record(2), record(6)] };
    expect(mergeJournal(sources)).toEqual({
      records: [1, 2].map(record),
      unsaved: [record(2)],
      lost: [3, 4, 6],
      end: 7,
    });
  });

  test('without records begins at the floor', () => {
    const nothing = { records: [], unsaved: [], lost: [] };
    expect(mergeJournal({ floor: 1, numbers: [], values: [], found: [] })).toEqual({ ...nothing, end: 1 });
    expect(mergeJournal({ floor: 8, numbers: [], values: [], found: [record(3)] })).toEqual({ ...nothing, end: 8 });
  });

  /** Owners one after another, each with a claim and then records here or there; then a power cut takes the ends of both. */
  test('after any power cut finds a prefix of what was written, repeatedly', () => {
    const owners = fc.array(fc.array(fc.boolean(), { maxLength: 6 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(owners, fc.nat(30), fc.nat(30), (terms, keptInDatabase, keptInFiles) => {
        const stored: [number, string | number][] = [];
        const found: JournalRecord[] = [];
        const written: string[] = [];
        let number = 1;
        for (const [index, term] of terms.entries()) {
          stored.push([number++, index + 1]);
          for (const isInFile of term) {
            if (isInFile) found.push(record(number));
            else stored.push([number, `t${number}`]);
            written.push(`t${number++}`);
          }
        }
        const merge = (entries: readonly [number, string | number][]) =>
          mergeJournal({
            floor: 1,
            numbers: entries.map(([at]) => at),
            values: entries.map(([, value]) => value),
            found: found.slice(0, keptInFiles),
          });
        const surviving = stored.slice(0, keptInDatabase);
        const first = merge(surviving);
        const texts = first.records.map(({ text }) => text);
        expect(texts).toEqual(written.slice(0, texts.length));
        const nothingLost = keptInDatabase >= stored.length && keptInFiles >= found.length;
        if (nothingLost) expect(texts).toEqual(written);
        const next = new Map(surviving);
        for (const lost of first.lost) next.set(lost, 7);
        next.set(first.end, 7).set(first.end + 1, 'new');
        const second = merge([...next].sort(([left], [right]) => left - right));
        expect(second.records.map(({ text }) => text)).toEqual([...texts, 'new']);
      }),
      { numRuns: 500 },
    );
  });
});

/** Ends the transaction of the next `put` as a browser does that has no space left. */
function fillUp(): void {
  const original = IDBObjectStore.prototype.put;
  vi.spyOn(IDBObjectStore.prototype, 'put').mockImplementationOnce(function (this: IDBObjectStore, value, key) {
    const request = original.call(this, value, key);
    request.addEventListener('success', () => {
      Reflect.get(this.transaction, '_abort').call(this.transaction, 'QuotaExceededError');
    });
    return request;
  });
}

describe('an opening without room for a claim', () => {
  test('reads the segments, and seals none', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(5);
    fillUp();
    const { file, texts } = await reopened();
    expect(texts).toEqual(writing.texts);
    await writing.append();
    const number = file.opening.nextJournal;
    await rejects('storage_fenced', () => file.commit(relaxed({ journal: { number, text: 'late' } })));
    await file.close();
    expect((await reopened()).texts).toEqual(writing.texts);
  });

  test('has the segments sealed by the first commit with room, and their content stays', async () => {
    const writing = await begin();
    await writing.reachFile();
    await writing.appendMany(5);
    fillUp();
    const { file, texts } = await reopened();
    const late = new Writing(file);
    await late.appendMany(3);
    await rejects('storage_fenced', () => writing.append());
    await file.close();
    expect((await reopened()).texts).toEqual([...texts, ...late.texts]);
  });
});
