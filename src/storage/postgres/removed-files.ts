import type { ConnectionPool } from './connection-pool.ts';
import type { StatementSets } from './statements.ts';

/** Pages that are removed at a time, so that no statement takes long. */
const PAGES_AT_ONCE = 1000;

/** Removes, in the background, what removed files leave. What is left when it ends is removed by the next store. */
export class RemovedFiles {
  readonly #pool: ConnectionPool;
  readonly #statements: StatementSets;
  #sweeping: Promise<void> | undefined;
  #isWanted = false;
  #isClosed = false;

  constructor(pool: ConnectionPool, statements: StatementSets) {
    this.#pool = pool;
    this.#statements = statements;
  }

  /** Begins, or does so again after the running sweep. A failure is left to the next one. */
  sweep(): void {
    this.#isWanted = true;
    if (this.#sweeping !== undefined || this.#isClosed) return;
    this.#sweeping = this.#sweep()
      .catch(() => undefined)
      .finally(() => {
        this.#sweeping = undefined;
      });
  }

  /** Waits for the running statement. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false;
      const rows = await this.#pool.use((connection) => connection.query(this.#statements.common.removed));
      for (const row of rows) await this.#remove(String(row['id']));
    }
  }

  async #remove(id: string): Promise<void> {
    const { removePages, removeJournal, removeFile, pageNumbers } = this.#statements.of(id);
    for (let isLeft = true; isLeft; ) {
      if (this.#isClosed) return;
      isLeft = await this.#pool.use(async (connection) => {
        await connection.query(removePages, [id, PAGES_AT_ONCE]);
        const [left] = await connection.query(pageNumbers, [id, 0, 1]);
        return left !== undefined;
      });
    }
    await this.#pool.use(async (connection) => {
      await connection.query(removeJournal, [id]);
      await connection.query(removeFile, [id]);
    });
  }
}
