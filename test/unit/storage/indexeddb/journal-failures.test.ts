import { describe, expect, test } from 'vitest';
import { isDatabaseError } from '../../../../src/base/errors/database-error.ts';
import { must } from '../../../../src/base/shared/assert.ts';
import { rejects, relaxed } from '../../../conformance/storage/expectations.ts';
import {
  begin,
  createStore,
  fileAt,
  files,
  reopened,
  startAgain,
  textsInDatabase,
  useJournalFiles,
  Writing,
} from './journal-files.ts';

useJournalFiles();

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
      await startAgain();
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
