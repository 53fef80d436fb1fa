import { expect, test } from 'vitest';
import { createLog, type LogLevel } from '../../../src/system/log.ts';

const clock = { now: () => Date.UTC(2026, 0, 31, 12, 0, 0), monotonic: () => 0 };

function entriesAt(level: LogLevel): string[] {
  const entries: string[] = [];
  const log = createLog({ level, clock, write: (entry) => entries.push(entry) });
  log.error('broken');
  log.info('changed');
  log.debug('looked');
  return entries;
}

test('entries have time and level, and the level filters them', () => {
  const error = '2026-01-31T12:00:00.000Z [error] broken';
  const info = '2026-01-31T12:00:00.000Z [info] changed';
  const debug = '2026-01-31T12:00:00.000Z [debug] looked';
  expect(entriesAt('none')).toEqual([]);
  expect(entriesAt('error')).toEqual([error]);
  expect(entriesAt('info')).toEqual([error, info]);
  expect(entriesAt('debug')).toEqual([error, info, debug]);
});

test('an error is written with its stack and what caused it', () => {
  const entries: string[] = [];
  const log = createLog({ level: 'error', clock, write: (entry) => entries.push(entry) });
  log.error('broken', new Error('outer', { cause: new TypeError('inner') }));
  log.error('odd', 'a text');
  expect(entries[0]).toMatch(/broken\nError: outer\n {4}at [\s\S]*\ncaused by TypeError: inner\n/);
  expect(entries[1]).toBe('2026-01-31T12:00:00.000Z [error] odd\na text');
});
