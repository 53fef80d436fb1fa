import type { Log } from '../../base/system/contract.ts';

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
