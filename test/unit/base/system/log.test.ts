import { describe, expect, test } from 'vitest';
import type { Log } from '../../../../src/base/system/contract.ts';
import { createLog, type LogLevel } from '../../../../src/base/system/log.ts';

const clock = { now: () => Date.UTC(2026, 0, 31, 12, 0, 0), monotonic: () => 0 };

function entriesAt(level: LogLevel): string[] {
  const entries: string[] = [];
  const log = createLog({ level, clock, write: (entry) => entries.push(entry) });
  log.error('broken');
  log.warning?.('attacked');
  log.info('changed');
  log.debug('looked');
  log.request?.(() => 'asked');
  return entries;
}

test('log entries have time and level, and the level filters them', () => {
  const error = '2026-01-31T12:00:00.000Z [error] broken';
  const warning = '2026-01-31T12:00:00.000Z [warning] attacked';
  const info = '2026-01-31T12:00:00.000Z [info] changed';
  const debug = '2026-01-31T12:00:00.000Z [debug] looked';
  const request = '2026-01-31T12:00:00.000Z [request] asked';
  expect(entriesAt('none')).toEqual([]);
  expect(entriesAt('error')).toEqual([error]);
  expect(entriesAt('warning')).toEqual([error, warning]);
  expect(entriesAt('info')).toEqual([error, warning, info]);
  expect(entriesAt('debug')).toEqual([error, warning, info, debug]);
  expect(entriesAt('request')).toEqual([error, warning, info, debug, request]);
});

test('requests are entries of the level info if that is asked for', () => {
  for (const [level, shown] of [
    ['warning', []],
    ['info', ['2026-01-31T12:00:00.000Z [info] asked']],
    ['request', ['2026-01-31T12:00:00.000Z [request] asked']],
  ] as const) {
    const entries: string[] = [];
    const log = createLog({ level, hasRequests: () => true, clock, write: (entry) => entries.push(entry) });
    log.request?.(() => 'asked');
    expect(entries).toEqual(shown);
  }
});

test('the entry of a request is formatted only if it is written', () => {
  const log = createLog({ level: 'debug', clock, write: () => {} });
  log.request?.(() => {
    throw new Error('nobody reads it');
  });
});

test('an error is logged with its stack and cause', () => {
  const entries: string[] = [];
  const log = createLog({ level: 'error', clock, write: (entry) => entries.push(entry) });
  log.error('broken', new Error('outer', { cause: new TypeError('inner') }));
  log.error('odd', 'a text');
  expect(entries[0]).toMatch(
    /broken\n {2}Error: outer\n {4}at [^\n]*\n[\s\S]*\n {2}caused by TypeError: inner\n {4}at /,
  );
  expect(entries[1]).toBe('2026-01-31T12:00:00.000Z [error] odd\n  a text');
});

describe('text from a client in the log', () => {
  const forged = '2026-01-01T00:00:00.000Z [error] forged';
  const nasty = `a\n${forged}\r\n\u001b[2J\u0007\u0000\u009b31m\u2028\u202e\tz`;
  const shown = String.raw`a\n2026-01-01T00:00:00.000Z [error] forged\r\n\u001b[2J\u0007\u0000\u009b31m\u2028\u202e\tz`;

  function logged(use: (log: Log) => void): string {
    const entries: string[] = [];
    use(createLog({ level: 'debug', clock, write: (entry) => entries.push(entry) }));
    expect(entries).toHaveLength(1);
    return entries[0] ?? '';
  }

  test('neither begins a line nor controls a terminal, on any level', () => {
    expect(logged((log) => log.error(nasty))).toBe(`2026-01-31T12:00:00.000Z [error] ${shown}`);
    expect(logged((log) => log.info(nasty))).toBe(`2026-01-31T12:00:00.000Z [info] ${shown}`);
    expect(logged((log) => log.debug(nasty))).toBe(`2026-01-31T12:00:00.000Z [debug] ${shown}`);
    expect(logged((log) => log.error('odd', nasty))).toBe(`2026-01-31T12:00:00.000Z [error] odd\n  ${shown}`);
  });

  test('stays on one line as the message of an error, however deep', () => {
    const frame = `at evil (${forged})\n    at more`;
    const cause = new Error(`${nasty}\n    ${frame}`, { cause: new Error(nasty) });
    const lines = logged((log) => log.error('broken', cause)).split('\n');
    expect(lines[1]).toBe(`  Error: ${shown}\\n    at evil (${forged})\\n    at more`);
    expect(lines).toContain(`  caused by Error: ${shown}`);
    expect(lines.filter((line) => line.startsWith('2026'))).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('    at evil'))).toEqual([]);
  });
});
