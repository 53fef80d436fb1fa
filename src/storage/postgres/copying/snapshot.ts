import { isFileName } from '../../backend-checks.ts';
import type { FileSource, ReadableFile } from '../../file-copy.ts';
import type { Connection, ConnectionPool, Row } from '../connection-pool.ts';
import { toDatabaseError } from '../postgres-errors.ts';
import type { SettingsTable } from '../settings-table.ts';
import { numberOf } from '../values.ts';
import { pagesOf, type Run, readPages, readStoredFile } from './stored-file.ts';

/** The caller may take its time between two statements. */
const NO_TIMEOUT = `SELECT set_config(name, '0', true) FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`;

/**
 * All files of a storage as they are at one moment, whatever servers write meanwhile: one transaction on one connection. As long as it is open,
 * PostgreSQL's vacuum removes nothing that was deleted since, as during `pg_dump`. If the connection breaks, reads fail.
 */
export class PostgresSnapshot implements FileSource {
  readonly #schema: string;
  readonly #connection: Connection;
  readonly #release: (failure?: unknown) => void;
  #failure: unknown;

  private constructor(schema: string, connection: Connection, release: (failure?: unknown) => void) {
    this.#schema = schema;
    this.#connection = connection;
    this.#release = release;
  }

  static async open(pool: ConnectionPool): Promise<PostgresSnapshot> {
    const { connection, release } = await pool.acquire();
    const snapshot = new PostgresSnapshot(pool.address.schema, connection, release);
    try {
      await snapshot.#run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      await snapshot.#run(NO_TIMEOUT);
      return snapshot;
    } catch (error) {
      release(error);
      throw toDatabaseError(error, '*', 'beginning a copy');
    }
  }

  /** Whether a statement has failed: all later ones will. */
  get isBroken(): boolean {
    return this.#failure !== undefined;
  }

  async list(): Promise<string[]> {
    const rows = await this.#ask('*', `SELECT name FROM ${this.#schema}.files WHERE name IS NOT NULL`, []);
    return rows
      .map((row) => String(row['name']))
      .filter(isFileName)
      .sort();
  }

  async use<T>(file: string, use: (file: ReadableFile) => Promise<T>): Promise<T | undefined> {
    const schema = this.#schema;
    const run: Run = (text, values) => this.#ask(file, text, values);
    const found = await readStoredFile(run, schema, file);
    if (found === undefined) return undefined;
    const { id, state } = found;
    return use({
      name: file,
      state,
      countPages: async () => {
        const [row] = await run(`SELECT count(*) AS pages FROM ${pagesOf(schema, id)} WHERE file = $1`, [id]);
        return numberOf(row?.['pages']);
      },
      pages: (from) => readPages(run, schema, id, from),
    });
  }

  /** The settings at that moment; see `SettingsTable`. */
  readSettings(settings: SettingsTable): ReturnType<SettingsTable['read']> {
    return settings.read(this.#connection);
  }

  async close(): Promise<void> {
    await this.#run('ROLLBACK').catch(() => undefined);
    this.#release(this.#failure);
  }

  async #ask(file: string, ...query: Parameters<Run>): Promise<readonly Row[]> {
    try {
      return await this.#run(...query);
    } catch (error) {
      throw toDatabaseError(error, file, 'copying it');
    }
  }

  async #run(text: string, values: Parameters<Run>[1] = []): Promise<readonly Row[]> {
    try {
      return await this.#connection.query(text, values);
    } catch (error) {
      this.#failure ??= error;
      throw error;
    }
  }
}
