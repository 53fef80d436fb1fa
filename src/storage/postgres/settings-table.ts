import type { Connection, ConnectionPool, Row } from './connection-pool.ts';

interface SettingName {
  readonly section: string;
  readonly key: string;
}

type Settings = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The settings of the servers of a storage, in a table beside the databases: they are there on whatever machine a server starts. */
export class SettingsTable {
  readonly #pool: ConnectionPool;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
  }

  load(): Promise<Settings> {
    return this.#pool.repeat('reading the settings', async (connection) => (await this.read(connection)).settings);
  }

  /** Reads the settings, and what `hasAdminMark` returns, in the transaction of a connection. */
  async read(connection: Connection): Promise<{ readonly settings: Settings; readonly hasAdmins: boolean }> {
    const { schema } = this.#pool.address;
    const rows = await connection.query(`SELECT section, key, value FROM ${schema}.settings ORDER BY section, key`);
    const [format] = await connection.query(`SELECT has_admins FROM ${schema}.format WHERE id = 1`);
    return { settings: toSettings(rows), hasAdmins: format?.['has_admins'] === true };
  }

  /** Whether a server of this storage has had an admin, and none was removed on purpose since. */
  hasAdminMark(): Promise<boolean> {
    return this.#pool.repeat('reading the settings', async (connection) => (await this.read(connection)).hasAdmins);
  }

  /** Stores a value under the first of the names, or deletes it if it is undefined. Deletes the others. */
  async write(names: readonly SettingName[], value: string | undefined): Promise<void> {
    const table = `${this.#pool.address.schema}.settings`;
    await this.#pool.transaction('storing a setting', async (connection) => {
      for (const { section, key } of names)
        await connection.query(`DELETE FROM ${table} WHERE section = $1 AND key = $2`, [section, key]);
      const [name] = names;
      if (name === undefined || value === undefined) return;
      await connection.query(`INSERT INTO ${table} (section, key, value) VALUES ($1, $2, $3)`, [
        name.section,
        name.key,
        value,
      ]);
    });
  }

  async markAdmins(hasAdmins: boolean): Promise<void> {
    const text = `UPDATE ${this.#pool.address.schema}.format SET has_admins = $1 WHERE id = 1 AND has_admins <> $1`;
    await this.#pool.repeat('storing a setting', (connection) => connection.query(text, [hasAdmins]));
  }
}

function toSettings(rows: readonly Row[]): Settings {
  const sections = new Map<string, Map<string, string>>();
  for (const row of rows) {
    const section = String(row['section']);
    const keys = sections.get(section) ?? new Map<string, string>();
    sections.set(section, keys.set(String(row['key']), String(row['value'])));
  }
  return Object.fromEntries([...sections].map(([section, keys]) => [section, Object.fromEntries(keys)]));
}
