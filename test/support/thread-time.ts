import { closeSync, existsSync, openSync, readSync } from 'node:fs';

const FILE = '/proc/thread-self/schedstat';

/**
 * Processor time of the thread that creates this, which other threads, such as those for garbage collection, and other processes hardly
 * affect. If the system does not report single threads, that of the process.
 */
export class ThreadTime {
  readonly #file = existsSync(FILE) ? openSync(FILE, 'r') : undefined;
  readonly #buffer = Buffer.alloc(128);

  /** Milliseconds since some starting point. */
  ms(): number {
    if (this.#file === undefined) {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    }
    // The first number is the time on a processor in nanoseconds.
    const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
    return Number.parseInt(this.#buffer.toString('latin1', 0, length), 10) / 1e6;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}
