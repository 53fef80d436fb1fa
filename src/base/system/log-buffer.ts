/** The latest entries of the log, in memory, for `_log` (docs/http/server.md#log). */
import type { Clock } from '../shared/clock.ts';
import type { Config, Log } from './contract.ts';
import { createLog, followLogLevel, followRequestEntries, warn, writeOfClient } from './log.ts';

/** The readable end of the log. */
export interface LogTail {
  /** The last `bytes` bytes after going back `offset` bytes from the end, or as many of them as there are. */
  read(bytes: number, offset: number): Promise<Uint8Array> | Uint8Array;
}

/** UTF-16 units of half of what is kept, separately for the service's own entries and for those of clients. */
const HALF_UNITS = 524_288;
const HALF_UNITS_OF_CLIENTS = 131_072;

interface Entry {
  /** The entry's number among all entries. */
  readonly number: number;
  readonly text: string;
}

/** The latest entries of one kind. */
class Tail {
  readonly #halfUnits: number;
  /** The half that is discarded next: the other one replaces it when full. */
  #older: Entry[] = [];
  #newer: Entry[] = [];
  #newerUnits = 0;

  constructor(halfUnits: number) {
    this.#halfUnits = halfUnits;
  }

  /** Keeps the end of a long entry. */
  add(number: number, entry: string): void {
    const text = `${entry.slice(-this.#halfUnits)}\n`;
    if (this.#newerUnits + text.length > this.#halfUnits && this.#newerUnits > 0) {
      this.#older = this.#newer;
      this.#newer = [];
      this.#newerUnits = 0;
    }
    this.#newer.push({ number, text });
    this.#newerUnits += text.length;
  }

  get entries(): readonly Entry[] {
    return [...this.#older, ...this.#newer];
  }
}

export class LogBuffer implements LogTail {
  readonly #own = new Tail(HALF_UNITS);
  readonly #ofClients = new Tail(HALF_UNITS_OF_CLIENTS);
  #lastNumber = 0;

  /** Takes an entry without a newline at its end. Client entries displace only each other. */
  write(entry: string, isOfClient = false): void {
    (isOfClient ? this.#ofClients : this.#own).add(++this.#lastNumber, entry);
  }

  read(bytes: number, offset: number): Uint8Array {
    const entries = [...this.#own.entries, ...this.#ofClients.entries].sort((one, other) => one.number - other.number);
    const all = new TextEncoder().encode(entries.map(({ text }) => text).join(''));
    const end = Math.max(0, all.length - offset);
    return all.subarray(Math.max(0, end - bytes), end);
  }
}

/** Writes to `log`, and, on the level that `log/level` sets, to the buffer as well. */
export function bufferedLog(log: Log, buffer: LogBuffer, clock: Clock, config: Config): Log {
  const write = (entry: string, _level: unknown, isOfClient: boolean) => buffer.write(entry, isOfClient);
  const kept = createLog({
    level: followLogLevel(() => config),
    hasRequests: followRequestEntries(() => config),
    clock,
    write,
  });
  return {
    error: (message, cause) => {
      log.error(message, cause);
      kept.error(message, cause);
    },
    warning: (message) => {
      warn(log, message);
      kept.warning?.(message);
    },
    info: (message) => {
      log.info(message);
      kept.info(message);
    },
    debug: (message) => {
      log.debug(message);
      kept.debug(message);
    },
    client: (level, message) => {
      writeOfClient(log, level, message);
      kept.client?.(level, message);
    },
    request: (message) => {
      log.request?.(message);
      kept.request?.(message);
    },
  };
}
