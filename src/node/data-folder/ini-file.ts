/**
 * Keeps settings in an INI file that a person may also edit (docs/http/server.md#settings). Only its owner can read it, since it holds secrets. It is
 * replaced as a whole: a crash leaves the old file or the new one.
 */
import { chmod, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Log, SettingName, Settings } from '../../base/system/contract.ts';
import type { ConfigStorage } from '../../core/config/config-storage.ts';
import { hasCode, syncPath } from '../../storage/lmdb/folder.ts';
import { editIni, readIni } from './ini-text.ts';

/** The path of the file in a data folder. */
export const CONFIG_FILE = 'settee.ini';

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;

const BEGINNING = `; The settings of this server. A change in this file takes effect at the next start, or after POST /_restart ("a change counts" in
; docs/http/server.md#settings). A change by /_config is written to this file, and takes effect at once.
`;

export class IniFile implements ConfigStorage {
  readonly #path: string;
  readonly #log: Log;

  /** Does not read or write anything yet. */
  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** Removes the right to read it from everyone except its owner. */
  async load(): Promise<Settings> {
    const text = await this.#read();
    if (text === undefined) return {};
    await this.#closeToOthers();
    return readIni(text, this.#path);
  }

  /** Keeps what a person wrote into the file meanwhile. */
  async write(names: readonly SettingName[], value: string | undefined): Promise<void> {
    const text = (await this.#read()) ?? BEGINNING;
    const there = readIni(text, this.#path);
    const kept = names.find(({ section, key }) => there[section]?.[key] !== undefined) ?? names[0];
    const edited = names.reduce(
      (edit, name) => editIni(edit, this.#path, name.section, name.key, name === kept ? value : undefined),
      text,
    );
    await this.#replace(edited);
  }

  /** Undefined if there is none. */
  async #read(): Promise<string | undefined> {
    try {
      return await readFile(this.#path, 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
      throw this.#unusable(error);
    }
  }

  async #replace(text: string): Promise<void> {
    // A link stays a link.
    const path = await realpath(this.#path).catch(() => this.#path);
    await replaceSecretFile(path, text).catch((error: unknown) => {
      throw this.#unusable(error);
    });
  }

  async #closeToOthers(): Promise<void> {
    if (process.platform === 'win32') return;
    try {
      const { mode } = await stat(this.#path);
      if ((mode & OTHERS) === 0) return;
      await chmod(this.#path, OWNER_ONLY);
      this.#log.info(
        `${this.#path} could be read by other users, although it may contain secrets; now only its owner can read it.`,
      );
    } catch (error) {
      this.#log.error(
        `${this.#path} can be read by other users, and it may contain secrets. Allow only its owner to read it.`,
        error,
      );
    }
  }

  #unusable(error: unknown): DatabaseError {
    const code = hasCode(error, 'ENOSPC') || hasCode(error, 'EDQUOT') ? 'storage_full' : 'storage_failed';
    const why = error instanceof Error ? error.message : String(error);
    const reason = `The configuration file ${this.#path} can't be used: ${why}. No setting was changed; the server must be able to read and write this file and its folder.`;
    return new DatabaseError(code, reason, { cause: error });
  }
}

/** Creates the configuration file, without settings, if there is none. */
export async function createConfigFile(path: string): Promise<void> {
  try {
    await writeDurably(path, BEGINNING);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return;
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Replaces a file that only its owner can read: a crash leaves the old one or the new one. */
export async function replaceSecretFile(path: string, content: string | Uint8Array): Promise<void> {
  const draft = `${path}.new`;
  try {
    await rm(draft, { force: true });
    await writeDurably(draft, content);
    await rename(draft, path);
    await syncPath(dirname(path));
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

async function writeDurably(path: string, text: string | Uint8Array): Promise<void> {
  const file = await open(path, 'wx', OWNER_ONLY);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
