import { describe, expect, test, vi } from 'vitest';
import { must } from '../../../../src/base/shared/assert.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import { patient } from '../../../support/patience.ts';
import {
  begin,
  closeHandles,
  createGate,
  createStore,
  fileAt,
  files,
  reopened,
  textsInDatabase,
  useJournalFiles,
  Writing,
} from './journal-files.ts';

useJournalFiles();

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
