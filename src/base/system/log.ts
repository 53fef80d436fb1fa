/**
 * Owns the log's form and its level filter; the host decides where the lines go. For what belongs on which level,
 * see `Log`. Lines never hold document bodies or credentials, which callers must ensure. They may hold names and messages
 * that strangers chose, so control characters are escaped: no entry can imitate another or control a terminal.
 */
import type { Clock } from '../shared/clock.ts';
import { choiceSetting } from './config.ts';
import type { ClientLevel, Config, Log } from './contract.ts';

export type LogLevel = 'none' | EntryLevel;

export type EntryLevel = 'error' | 'warning' | 'info' | 'debug' | 'request';

/** From the level that logs least to the one that logs most. */
export const LOG_LEVELS: readonly LogLevel[] = ['none', 'error', 'warning', 'info', 'debug', 'request'];

const RANKS: Readonly<Record<LogLevel, number>> = { none: 0, error: 1, warning: 2, info: 3, debug: 4, request: 5 };

interface LogOptions {
  /** The most verbose level that is written, or a function that returns it for each entry. */
  readonly level: LogLevel | (() => LogLevel);
  /** Whether requests are entries of the level `info`. Default: never, they have their own. */
  readonly hasRequests?: () => boolean;
  readonly clock: Clock;
  /** Takes one entry without a newline at its end, its level, and whether a client sent it; an error's entry may have several lines. */
  readonly write: (entry: string, level: EntryLevel, isOfClient: boolean) => void;
}

/** Writes entries of the form `2026-01-31T12:00:00.000Z [info] text`. */
export function createLog(options: LogOptions): Log {
  const { clock, write } = options;
  const { level: limit } = options;
  const { hasRequests = () => false } = options;
  const isWritten = (level: EntryLevel) => RANKS[level] <= RANKS[typeof limit === 'function' ? limit() : limit];
  const entry = (level: EntryLevel, message: string, cause?: unknown, isOfClient = false) => {
    if (!isWritten(level)) return;
    const lines = [message, ...(cause === undefined ? [] : describeCause(cause))].map(escapeControls);
    write(`${new Date(clock.now()).toISOString()} [${level}] ${lines.join('\n')}`, level, isOfClient);
  };
  return {
    error: (message, cause) => entry('error', message, cause),
    warning: (message) => entry('warning', message),
    info: (message) => entry('info', message),
    debug: (message) => entry('debug', message),
    client: (level, message) => entry(level, message, undefined, true),
    request: (message) => {
      if (isWritten('request')) entry('request', message());
      else if (hasRequests() && isWritten('info')) entry('info', message());
    },
  };
}

/** Writes an entry at the level `warning`, or at `info` to a log without it. */
export function warn(log: Log, message: string): void {
  if (log.warning === undefined) log.info(message);
  else log.warning(message);
}

/** Writes what a client has sent. */
export function writeOfClient(log: Log, level: ClientLevel, message: string): void {
  if (log.client !== undefined) log.client(level, message);
  else if (level === 'warning') warn(log, message);
  else log[level](message);
}

/** Returns a log for what clients cause: functions that they wrote, replications that they requested. The service's own errors stay its own. */
export function logOfClients(log: Log): Log {
  return {
    error: (message, cause) => log.error(message, cause),
    info: (message) => writeOfClient(log, 'info', message),
    debug: (message) => writeOfClient(log, 'debug', message),
  };
}

/** Levels of other servers of the family, mapped to our level that writes the same entries. */
const FAMILY_LEVELS: Readonly<Record<string, LogLevel>> = {
  notice: 'info',
  ...{ warn: 'warning', err: 'error', critical: 'error', crit: 'error' },
  ...{ alert: 'error', emergency: 'error', emerg: 'error' },
};

/** Returns whether requests are logged at the level `info`, by the setting `log/requests`. `config`: see `followLogLevel`. */
export function followRequestEntries(config: () => Config): () => boolean {
  return () => config().get('log', 'requests') === 'true';
}

/** Returns the setting `log/level`. */
export function logLevel(config: Config): LogLevel {
  const text = config.get('log', 'level') ?? '';
  const family = Object.hasOwn(FAMILY_LEVELS, text) ? FAMILY_LEVELS[text] : undefined;
  return family ?? choiceSetting(config, 'log', 'level', LOG_LEVELS);
}

/** Returns a function that returns the level at each request, and parses only changed text. `config` may return another configuration each time. */
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

/** Drops everything; for callers that pass no log. */
export const silentLog: Log = { error: () => {}, info: () => {}, debug: () => {} };

/** Returns the lines of an error with its stack, and of its causes. */
function describeCause(cause: unknown, prefix = '  '): string[] {
  if (!(cause instanceof Error)) return [`${prefix}${cause}`];
  const own = [`${prefix}${cause.name}: ${cause.message}`, ...framesOf(cause)];
  return cause.cause === undefined ? own : [...own, ...describeCause(cause.cause, '  caused by ')];
}

/** Returns where it was thrown. V8 puts the message before that, which may have several lines. */
function framesOf({ stack = '', message }: Error): string[] {
  const end = stack.indexOf(message);
  const frames = end < 0 ? stack : stack.slice(end + message.length);
  return frames.split('\n').flatMap((line) => (/^ {4}at |@/.test(line) ? [`    ${line.trim()}`] : []));
}

/**
 * Escapes foreign text for a log or a terminal: it must neither begin a new line nor control the reader's terminal.
 * So control characters (C0, DEL, C1), line separators, and characters that change the writing direction are shown as escapes.
 */
export function escapeControls(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, escapeOne);
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escapeOne(character: string): string {
  return SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
