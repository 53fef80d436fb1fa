import { describe, expect, test, vi } from 'vitest';
import { relaxed } from '../../../conformance/storage/expectations.ts';
import { patient } from '../../../support/patience.ts';
import { begin, files, reopened, textsInDatabase, useJournalFiles, Writing } from './journal-files.ts';

useJournalFiles();

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
