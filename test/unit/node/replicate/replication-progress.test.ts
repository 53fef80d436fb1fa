import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { ReplicationProgress } from '../../../../src/node/replicate/replication-progress.ts';

const figures = { docsRead: 0, docWriteFailures: 0, missingChecked: 0, missingFound: 0, bytesRead: 0 };
const ended = { sourceSeq: 0, checkpointedSourceSeq: 0 };

function terminal() {
  return Object.assign(new PassThrough(), { isTTY: true, cursorTo: () => true, clearLine: () => true });
}

test('the progress bar goes from pending to done over several attempts', () => {
  const stream = terminal();
  const progress = new ReplicationProgress(stream);
  const first = progress.startReplication();
  first.update({ ...figures, ...ended, docsWritten: 0, bytesWritten: 0, pending: undefined }, []);
  expect(stream.read()).toBeNull();
  first.update({ ...figures, ...ended, docsWritten: 10, bytesWritten: 2_000, pending: 30 }, []);
  first.end();
  const second = progress.startReplication();
  const refused = [{ id: 'd', rev: '1-a', error: 'forbidden', reason: 'no' }];
  second.update({ ...figures, ...ended, docsWritten: 14, bytesWritten: 3_000, pending: 15 }, refused);
  expect([progress.written, progress.bytesWritten]).toEqual([24, 5_000]);
  second.update({ ...figures, ...ended, docsWritten: 29, bytesWritten: 6_000, pending: 0 }, refused);
  progress.end();
  expect(String(stream.read())).toContain('100 %  39 written, 8.0 kB, 1 refused, 0 pending');
});
