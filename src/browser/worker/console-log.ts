import { systemClock } from '../../base/shared/clock.ts';
import type { Log } from '../../base/system/contract.ts';
import { createLog, type EntryLevel, type LogLevel } from '../../base/system/log.ts';

/** The log of a worker goes to the console of the page's developer tools, errors as errors. */
export function createConsoleLog(level: LogLevel = 'error'): Log {
  // biome-ignore lint/suspicious/noConsole: a worker has nothing else to write to.
  const write = (entry: string, kind: EntryLevel) => console[kind === 'request' ? 'debug' : kind](`Settee ${entry}`);
  return createLog({ level, clock: systemClock, write });
}
