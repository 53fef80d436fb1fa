import type { Database } from '../../database/contract.ts';

interface RunningUpdate {
  readonly database: Database;
  readonly done: Promise<void>;
}

/** The update of an index that is under way, shared by all who ask meanwhile. */
export class SharedUpdate {
  #running: RunningUpdate | undefined;

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /**
   * Joins the update that runs, or has one begun. One through another handle of the database is only waited for: that
   * it fails may be because that handle was closed, and what it brings may be less than this handle has.
   */
  async join(database: Database, begin: () => Promise<void>): Promise<void> {
    while (this.#running !== undefined && this.#running.database !== database) {
      await this.#running.done.catch(() => undefined);
    }
    this.#running ??= { database, done: begin().finally(() => this.#ended()) };
    await this.#running.done;
  }

  #ended(): void {
    this.#running = undefined;
  }
}
