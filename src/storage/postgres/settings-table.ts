import type { ConnectionPool } from './connection-pool.ts';

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

  async load(): Promise<Settings> {
    const text = `SELECT section, key, value FROM ${this.#pool.address.schema}.settings ORDER BY section, key`;
    const rows = await this.#pool.repeat('reading the settings', (connection) => connection.query(text));
    const sections = new Map<string, Map<string, string>>();
    for (const row of rows) {
      const section = String(row['section']);
      const keys = sections.get(section) ?? new Map<string, string>();
      sections.set(section, keys.set(String(row['key']), String(row['value'])));
    }
    return Object.fromEntries([...sections].map(([section, keys]) => [section, Object.fromEntries(keys)]));
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

  /** Whether a server of this storage has had an admin, and none was removed on purpose since. */
  async hasAdminMark(): Promise<boolean> {
    const text = `SELECT has_admins FROM ${this.#pool.address.schema}.format WHERE id = 1`;
    const [row] = await this.#pool.repeat('reading the settings', (connection) => connection.query(text));
    return row?.['has_admins'] === true;
  }

  async markAdmins(hasAdmins: boolean): Promise<void> {
    const text = `UPDATE ${this.#pool.address.schema}.format SET has_admins = $1 WHERE id = 1 AND has_admins <> $1`;
    await this.#pool.repeat('storing a setting', (connection) => connection.query(text, [hasAdmins]));
  }
}
