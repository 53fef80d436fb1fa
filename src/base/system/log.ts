/**
 * Owns the log's form and its level filter; where the lines go is for the host to say. What belongs on which level:
 * see `Log`. Lines never hold document bodies or credentials, which is for the callers to keep. They may hold names and messages
 * that strangers chose, whose control characters are escaped: one entry looks like no other, and steers no terminal.
 */
import type { Clock } from '../shared/clock.ts';
import { escapeControls } from '../shared/escape-controls.ts';
import { choiceSetting } from './config.ts';
import type { Config, Log } from './contract.ts';

export type LogLevel = 'none' | EntryLevel;

export type EntryLevel = 'error' | 'info' | 'debug' | 'request';

/** From the one that logs least to the one that logs most. */
export const LOG_LEVELS: readonly LogLevel[] = ['none', 'error', 'info', 'debug', 'request'];

const RANKS: Readonly<Record<LogLevel, number>> = { none: 0, error: 1, info: 2, debug: 3, request: 4 };

interface LogOptions {
  /** The most talkative level that is written, or what says it at each entry. */
  readonly level: LogLevel | (() => LogLevel);
  readonly clock: Clock;
  /** Takes one entry without a newline at its end, its level, and whether a client sent it; an error's entry may have several lines. */
  readonly write: (entry: string, level: EntryLevel, isOfClient: boolean) => void;
}

/** Writes entries of the form `2026-01-31T12:00:00.000Z [info] text`. */
export function createLog(options: LogOptions): Log {
  const { clock, write } = options;
  const { level: limit } = options;
  const isWritten = (level: EntryLevel) => RANKS[level] <= RANKS[typeof limit === 'function' ? limit() : limit];
  const entry = (level: EntryLevel, message: string, cause?: unknown, isOfClient = false) => {
    if (!isWritten(level)) return;
    const lines = [message, ...(cause === undefined ? [] : describeCause(cause))].map(escapeControls);
    write(`${new Date(clock.now()).toISOString()} [${level}] ${lines.join('\n')}`, level, isOfClient);
  };
  return {
    error: (message, cause) => entry('error', message, cause),
    info: (message) => entry('info', message),
    debug: (message) => entry('debug', message),
    client: (level, message) => entry(level, message, undefined, true),
    request: (message) => {
      if (isWritten('request')) entry('request', message());
    },
  };
}

/** Writes what a client has sent. */
export function writeOfClient(log: Log, level: 'error' | 'info' | 'debug', message: string): void {
  if (log.client === undefined) log[level](message);
  else log.client(level, message);
}

/** For what clients have a hand in: functions that they wrote, replications that they asked for. Errors of the service's own stay its own. */
export function logOfClients(log: Log): Log {
  return {
    error: (message, cause) => log.error(message, cause),
    info: (message) => writeOfClient(log, 'info', message),
    debug: (message) => writeOfClient(log, 'debug', message),
  };
}

/** Levels of other servers of the family, by the one of ours that writes what they are asked for. */
const FAMILY_LEVELS: Readonly<Record<string, LogLevel>> = {
  notice: 'info',
  ...{ warning: 'error', warn: 'error', err: 'error', critical: 'error', crit: 'error' },
  ...{ alert: 'error', emergency: 'error', emerg: 'error' },
};

/** The setting `log/level`. */
export function logLevel(config: Config): LogLevel {
  const text = config.get('log', 'level') ?? '';
  const family = Object.hasOwn(FAMILY_LEVELS, text) ? FAMILY_LEVELS[text] : undefined;
  return family ?? choiceSetting(config, 'log', 'level', LOG_LEVELS);
}

/** The same, asked at each request: it is read again where the setting's text has changed. `config` may give another one each time. */
export function followLogLevel(config: () => Config): () => LogLevel {
  let text: string | undefined;
  let level: LogLevel | undefined;
  return () => {
    const current = config();
    const now = current.get('log', 'level');
    if (level === undefined || now !== text) {
      level = logLevel(current);
      text = now;
    }
    return level;
  };
}

/** Drops everything; for those who pass no log. */
export const silentLog: Log = { error: () => {}, info: () => {}, debug: () => {} };

/** The lines of an error with its stack, and of what caused it in turn. */
function describeCause(cause: unknown, prefix = '  '): string[] {
  if (!(cause instanceof Error)) return [`${prefix}${cause}`];
  const own = [`${prefix}${cause.name}: ${cause.message}`, ...framesOf(cause)];
  return cause.cause === undefined ? own : [...own, ...describeCause(cause.cause, '  caused by ')];
}

/** Where it was thrown. V8 has the message before that, which may have lines of its own. */
function framesOf({ stack = '', message }: Error): string[] {
  const end = stack.indexOf(message);
  const frames = end < 0 ? stack : stack.slice(end + message.length);
  return frames.split('\n').flatMap((line) => (/^ {4}at |@/.test(line) ? [`    ${line.trim()}`] : []));
}
