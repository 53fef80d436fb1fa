/** The latest entries of the log, in memory, for `_log` (docs/http.md#log). */
import type { Clock } from '../shared/clock.ts';
import type { Config, Log } from './contract.ts';
import { createLog, followLogLevel } from './log.ts';

/** What can be read of the log. */
export interface LogTail {
  /** The last `bytes` bytes after going back `offset` bytes from the end, or as many of them as there are. */
  read(bytes: number, offset: number): Promise<Uint8Array> | Uint8Array;
}

/** UTF-16 units of half of what is kept. */
const HALF_UNITS = 524_288;

export class LogBuffer implements LogTail {
  /** The half that is forgotten next: when the other one is full it takes its place. */
  #older: string[] = [];
  #newer: string[] = [];
  #newerUnits = 0;

  /** An entry without a newline at its end. Of a long one the end is kept. */
  write(entry: string): void {
    const kept = `${entry.slice(-HALF_UNITS)}\n`;
    if (this.#newerUnits + kept.length > HALF_UNITS && this.#newerUnits > 0) {
      this.#older = this.#newer;
      this.#newer = [];
      this.#newerUnits = 0;
    }
    this.#newer.push(kept);
    this.#newerUnits += kept.length;
  }

  read(bytes: number, offset: number): Uint8Array {
    const all = new TextEncoder().encode([...this.#older, ...this.#newer].join(''));
    const end = Math.max(0, all.length - offset);
    return all.subarray(Math.max(0, end - bytes), end);
  }
}

/** Writes to `log`, and on the level that `log/level` says into the buffer as well. */
export function bufferedLog(log: Log, buffer: LogBuffer, clock: Clock, config: Config): Log {
  const kept = createLog({ level: followLogLevel(() => config), clock, write: (entry) => buffer.write(entry) });
  return {
    error: (message, cause) => {
      log.error(message, cause);
      kept.error(message, cause);
    },
    info: (message) => {
      log.info(message);
      kept.info(message);
    },
    debug: (message) => {
      log.debug(message);
      kept.debug(message);
    },
    request: (message) => {
      log.request?.(message);
      kept.request?.(message);
    },
  };
}
