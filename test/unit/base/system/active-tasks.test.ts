import { expect, test } from 'vitest';
import { ActiveTasks } from '../../../../src/base/system/active-tasks.ts';

test('tasks are listed from their start to their end, with their progress', () => {
  let now = 1_000_000;
  const tasks = new ActiveTasks({ now: () => now, monotonic: () => 0 });
  const first = tasks.start('database_compaction', 'db');
  const second = tasks.start('indexer', 'other', '_design/d');
  now = 5_999;
  first.update(1, 3);
  expect(tasks.list()).toEqual([
    {
      type: 'database_compaction',
      pid: '<0.1.0>',
      database: 'db',
      task: 'db',
      status: 'Processed 1 of 3 changes (33%)',
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
      design_document: '_design/d',
      task: 'other _design/d',
      status: 'Starting',
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
