import { expect, test } from 'vitest';
import { ActiveTasks } from '../../../src/system/active-tasks.ts';

test('tasks are listed from their start to their end, with their progress', () => {
  let now = 1_000_000;
  const tasks = new ActiveTasks({ now: () => now, monotonic: () => 0 });
  const first = tasks.start('database_compaction', 'db');
  const second = tasks.start('indexer', 'other');
  now = 5_999;
  first.update(1, 3);
  expect(tasks.list()).toEqual([
    {
      type: 'database_compaction',
      pid: '<0.1.0>',
      database: 'db',
      progress: 33,
      changes_done: 1,
      total_changes: 3,
      started_on: 1000,
      updated_on: 5,
    },
    {
      type: 'indexer',
      pid: '<0.2.0>',
      database: 'other',
      progress: 0,
      changes_done: 0,
      total_changes: 0,
      started_on: 1000,
      updated_on: 1000,
    },
  ]);
  first.end();
  first.update(3, 3);
  second.end();
  expect(tasks.list()).toEqual([]);
});
