import type { Database } from '../../../database/store/contract.ts';

interface RunningUpdate {
  readonly database: Database;
  readonly done: Promise<void>;
}

/** The running update of an index, shared by all callers that request one meanwhile. */
export class SharedUpdate {
  #running: RunningUpdate | undefined;

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /**
   * Joins the running update, or begins one. If the running one reads through another handle of the database, waits for its
   * end and then begins one: the other may fail because its handle was closed, and may not see all that this handle does.
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
