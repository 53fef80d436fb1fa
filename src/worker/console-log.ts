import { systemClock } from '../shared/clock.ts';
import type { Log } from '../system/contract.ts';
import { createLog, type LogLevel } from '../system/log.ts';

/** The log of a worker goes to the console of the page's developer tools, errors as errors. */
export function createConsoleLog(level: LogLevel = 'error'): Log {
  // biome-ignore lint/suspicious/noConsole: a worker has nothing else to write to.
  return createLog({ level, clock: systemClock, write: (entry, kind) => console[kind](`Settee ${entry}`) });
}
