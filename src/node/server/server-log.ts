/** Where a server's log goes: to the user who runs it, to memory for `_log`, and to a file if the settings name one. */
import { systemClock } from '../../base/shared/clock.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import { createLog, followLogLevel, followRequestEntries, warn } from '../../base/system/log.ts';
import { LogBuffer, type LogTail } from '../../base/system/log-buffer.ts';
import { entryIn, hasJsonRequests } from '../tracing/access-log.ts';
import { LogFile } from './log-file.ts';

interface ServerLog {
  readonly log: Log;
  readonly logTail: LogTail;
  /** Adds an entry as another process of the server has made it. */
  add(entry: string, isOfClient: boolean): void;
  /** Waits until everything is in the file. */
  close(): Promise<void>;
}

/** `config` is called at each entry. `write` takes each of them, without a newline at its end. */
export function createServerLog(config: () => Config, write: (entry: string) => void): ServerLog {
  const buffer = new LogBuffer();
  // Not through the log itself: that would try to write to the file again.
  const file = new LogFile(config, write);
  const add = (entry: string, isOfClient: boolean): void => {
    write(entry);
    buffer.write(entry, isOfClient);
    file.write(entry, isOfClient);
  };
  const log = createLoggedEntries(config, add);
  const read = async (bytes: number, offset: number) => (await file.read(bytes, offset)) ?? buffer.read(bytes, offset);
  return { log, logTail: { read }, add, close: () => file.close() };
}

/** Returns a log in the form that the settings ask for. `add` takes each entry without a newline at its end. */
export function createLoggedEntries(config: () => Config, add: (entry: string, isOfClient: boolean) => void): Log {
  const level = followLogLevel(config);
  const hasRequests = followRequestEntries(config);
  const log = createLog({
    level,
    hasRequests,
    clock: systemClock,
    write: (entry, entryLevel, isOfClient) => add(entryIn(config(), entry, entryLevel), isOfClient),
  });
  return {
    ...log,
    request: (message) => {
      // Most logs have no requests: called for each one, this asks for little then. Lines of JSON are written when the response has been sent.
      if ((hasRequests() || level() === 'request') && !hasJsonRequests(config())) log.request?.(message);
    },
  };
}

/** Holds entries back until it is known at which level, and where, to write them: the settings say so, and reading them creates entries. */
export class HeldLog implements Log {
  readonly #log: Log;
  /** Undefined once nothing is held back any more. */
  #entries: (() => void)[] | undefined = [];

  constructor(log: Log) {
    this.#log = log;
  }

  error(message: string, cause?: unknown): void {
    this.#enter(() => this.#log.error(message, cause));
  }

  warning(message: string): void {
    this.#enter(() => warn(this.#log, message));
  }

  info(message: string): void {
    this.#enter(() => this.#log.info(message));
  }

  debug(message: string): void {
    this.#enter(() => this.#log.debug(message));
  }

  /** Writes the held entries, and from now on each entry at once. */
  release(): void {
    const entries = this.#entries ?? [];
    this.#entries = undefined;
    for (const enter of entries) enter();
  }

  #enter(enter: () => void): void {
    if (this.#entries === undefined) enter();
    else this.#entries.push(enter);
  }
}
