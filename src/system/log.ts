/**
 * Owns the log's form and its level filter; where the lines go is for the host to say. What belongs on which level:
 * see `Log`. Lines never hold document bodies or credentials, which is for the callers to keep.
 */
import type { Clock } from '../shared/clock.ts';
import type { Log } from './contract.ts';

export type LogLevel = 'error' | 'info' | 'debug' | 'none';

interface LogOptions {
  /** The most talkative level that is written. */
  readonly level: LogLevel;
  readonly clock: Clock;
  /** Takes one entry without a newline at its end; an error's entry may have several lines. */
  readonly write: (entry: string) => void;
}

const TALKATIVENESS: Readonly<Record<LogLevel, number>> = { none: 0, error: 1, info: 2, debug: 3 };

/** Writes entries of the form `2026-01-31T12:00:00.000Z [info] text`. */
export function createLog(options: LogOptions): Log {
  const { clock, write } = options;
  const limit = TALKATIVENESS[options.level];
  const entry = (level: LogLevel, message: string) => {
    if (TALKATIVENESS[level] <= limit) write(`${new Date(clock.now()).toISOString()} [${level}] ${message}`);
  };
  return {
    error: (message, cause) => entry('error', cause === undefined ? message : `${message}\n${describeCause(cause)}`),
    info: (message) => entry('info', message),
    debug: (message) => entry('debug', message),
  };
}

/** Drops everything; for those who pass no log. */
export const silentLog: Log = { error: () => {}, info: () => {}, debug: () => {} };

/** The error with its stack, and what caused it in turn. */
function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const own = cause.stack ?? `${cause.name}: ${cause.message}`;
  return cause.cause === undefined ? own : `${own}\ncaused by ${describeCause(cause.cause)}`;
}
