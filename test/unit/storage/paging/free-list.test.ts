import { describe, expect, test } from 'vitest';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import type { Commit, PageFile } from '../../../../src/storage/page-store.ts';
import { decodeFreeList, FreeList } from '../../../../src/storage/paging/free-list.ts';
import { PageAllocator } from '../../../../src/storage/paging/page-allocator.ts';
import { SnapshotRegister } from '../../../../src/storage/paging/snapshot-register.ts';

interface Scene {
  readonly file: PageFile;
  readonly snapshots: SnapshotRegister;
  readonly list: FreeList;
  /** What was committed. */
  readonly commits: Commit[];
}

async function open(): Promise<Scene> {
  const file = await createMemoryPageStore().open('file', 'create');
  const commits: Commit[] = [];
  const commit = file.commit.bind(file);
  file.commit = async (one) => {
    await commit(one);
    commits.push(one);
  };
  const clock = { now: () => 0, monotonic: () => 0 };
  const snapshots = new SnapshotRegister(clock, 1_000, () => undefined);
  return { file, snapshots, list: new FreeList(snapshots), commits };
}

describe('a free list', () => {
  test('drops pages that no snapshot can reach, the last first', async () => {
    const { file, list, commits } = await open();
    list.add(1, [10, 11, 12]);
    await list.commit(file, [], 2);
    expect(list.pages()).toEqual([10]);
    await list.commit(file, [], 2);
    expect(commits.map(({ dropPages }) => dropPages)).toEqual([[11, 12], [10]]);
    expect(list.hasDroppable).toBe(false);
  });

  test('keeps pages that a snapshot of an earlier state can reach', async () => {
    const { file, snapshots, list, commits } = await open();
    const ticket = snapshots.take(1);
    list.add(1, [10]);
    list.add(2, [20]);
    await list.commit(file, [{ number: 30, value: 'new' }], 9);
    expect(commits.map(({ dropPages }) => dropPages)).toEqual([[10]]);
    await list.commit(file, [], 9);
    expect(commits).toHaveLength(1);
    ticket.release();
    await list.commit(file, [], 9);
    expect(commits.map(({ dropPages }) => dropPages)).toEqual([[10], [20]]);
  });

  test('keeps all pages if a commit fails', async () => {
    const { file, list } = await open();
    list.add(1, [10, 11]);
    file.commit = () => Promise.reject(new Error('full'));
    await expect(list.commit(file, [], 9)).rejects.toThrow('full');
    expect(list.pages()).toEqual([10, 11]);
  });

  test('is stored as lists of twenty thousand page numbers each', async () => {
    const { list } = await open();
    list.add(1, [10, 11]);
    const further = Array.from({ length: 20_000 }, (_unused, index) => 100 + index);
    const lists = list.toLists(further, new PageAllocator(1, 900_000_000), 2 ** 20);
    expect(lists.map(({ number }) => number)).toEqual([900_000_000, 900_000_001]);
    const read = lists.map(({ value }) => decodeFreeList(String(value)));
    expect(read.map(({ length }) => length)).toEqual([20_000, 2]);
    expect(read.flat()).toEqual([10, 11, ...further]);
  });
});
