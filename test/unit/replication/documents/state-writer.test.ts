import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { parseRevId } from '../../../../src/database/documents/revisions/revisions.ts';
import type { StateMembers } from '../../../../src/replication/documents/state-members.ts';
import { StateWriter } from '../../../../src/replication/documents/state-writer.ts';

const FIRST = parseRevId('1-a');
const TRIGGERED: StateMembers = { _replication_state: 'triggered', _replication_id: 'id' };
const FAILED: StateMembers = { _replication_state: 'error', _replication_id: 'id', _replication_state_reason: 'why' };

let written: StateMembers[] = [];
let told = 0;
let answer: (count: number) => Promise<string | undefined>;

beforeEach(() => {
  written = [];
  told = 0;
  answer = async (count) => `${count + 1}-a`;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => vi.useRealTimers());

function open(stored: StateMembers = {}): StateWriter {
  return new StateWriter(FIRST, stored, {
    write: async (_rev, state) => {
      written.push(state);
      const rev = await answer(written.length);
      return rev === undefined ? undefined : parseRevId(rev);
    },
    written: () => {
      told++;
    },
    log: silentLog,
  });
}

test('of several states wanted in one turn the last is written', async () => {
  const writer = open();
  writer.want(TRIGGERED);
  writer.want(FAILED);
  await writer.settled();
  expect(written).toEqual([FAILED]);
  expect(writer.rev).toBe('2-a');
  expect(told).toBe(1);
});

test('a state that is already written is not written again, whatever its time', async () => {
  const writer = open({ ...TRIGGERED, _replication_state_time: '2026-01-31T12:00:00Z' });
  writer.want({ ...TRIGGERED, _replication_state_time: '2026-01-31T12:00:05Z' });
  await writer.settled();
  expect(written).toEqual([]);
  expect(told).toBe(1);
  writer.want(FAILED);
  await writer.settled();
  writer.want({ ...TRIGGERED, _replication_stats: { docs_read: 1 } });
  await writer.settled();
  expect(written).toHaveLength(2);
});

test('a state wanted during a write is written next', async () => {
  const writer = open();
  answer = async (count) => {
    if (count === 1) writer.want(TRIGGERED);
    return `${count + 1}-a`;
  };
  writer.want(FAILED);
  await writer.settled();
  expect(written).toEqual([FAILED, TRIGGERED]);
  expect(writer.rev).toBe('3-a');
});

test('a failure of the storage is tried again after a while, with the state wanted by then', async () => {
  const writer = open();
  answer = (count) =>
    count === 1 ? Promise.reject(new DatabaseError('storage_full', 'no room')) : Promise.resolve('2-a');
  writer.want(FAILED);
  await writer.settled();
  expect(told).toBe(0);
  vi.advanceTimersByTime(5_000);
  writer.want(TRIGGERED);
  await writer.settled();
  expect(written).toEqual([FAILED, TRIGGERED]);
  expect(told).toBe(1);
});

test('a document that another client has changed is not overwritten', async () => {
  const writer = open();
  answer = () => Promise.resolve(undefined);
  writer.want(FAILED);
  await writer.settled();
  writer.want(TRIGGERED);
  await writer.settled();
  expect(written).toEqual([FAILED]);
  expect(told).toBe(0);
});
