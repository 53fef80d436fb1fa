/**
 * Keeps a data folder, or another storage, whose server has admins from being served without one, which would make everyone an admin: after a restore from a
 * backup without settings, in a copy made by hand, with a wrong `--config`, or without the flags that named the admins.
 */
import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ConfigStore, Log } from '../../base/system/contract.ts';
import { hasAdminMark, holdsDatabase, markAdmins } from '../data-folder/data-folder.ts';
import { CONFIG_FILE, createConfigFile } from '../data-folder/ini-file.ts';

interface AdminGuardOptions {
  /** What is served, for messages. */
  readonly place: string;
  /** What keeps the mark that its server has admins. */
  readonly marks: AdminMarks;
  /** Where settings are, if they are in a file. */
  readonly configFile: string | undefined;
  /** The data folder, if that is what is served. */
  readonly dataFolder: string | undefined;
  /** The command that sets an admin. */
  readonly command: string;
  /** Serve it anyway. */
  readonly withoutAdmin: boolean;
  readonly log: Log;
}

/** A mark beside the databases: settings may be elsewhere. */
export interface AdminMarks {
  hasAdminMark(): Promise<boolean>;
  markAdmins(hasAdmins: boolean): Promise<void>;
}

/** The mark of a data folder. */
export function marksOf(dataFolder: string): AdminMarks {
  return {
    hasAdminMark: () => hasAdminMark(dataFolder),
    markAdmins: (hasAdmins) => markAdmins(dataFolder, hasAdmins),
  };
}

export class AdminGuard {
  readonly #options: AdminGuardOptions;
  /** Changes of the mark, one after another. */
  #marking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: AdminGuardOptions) {
    this.#options = options;
  }

  /** Fails with `bad_request` if the server of this place has had an admin, and has none with these settings. */
  async assertAdmin(config: ConfigStore): Promise<void> {
    const { marks, withoutAdmin } = this.#options;
    if (withoutAdmin || hasAdmin(config) || !(await marks.hasAdminMark())) return;
    throw this.#refusal('its server had admins, but these settings have none');
  }

  /**
   * Fails with `bad_request` if the folder has users, but no settings at all: its settings were not copied with it. To be called by
   * the owner of the folder.
   */
  async assertSettings(databases: string, config: ConfigStore): Promise<void> {
    const { configFile = '', withoutAdmin } = this.#options;
    if (withoutAdmin || hasAdmin(config) || (await isThere(configFile))) return;
    if (await holdsDatabase(databases, '_users')) {
      throw this.#refusal(`it has users, but the configuration file of its server, ${configFile}, does not exist`);
    }
  }

  /** Marks the folder now, and at each change of the admins. To be called by the owner of the folder. */
  follow(config: ConfigStore): Promise<void> {
    config.onChange(({ section }) => {
      if (section === 'admins') void this.#mark(config);
    });
    if (hasAdmin(config)) return this.#mark(config);
    // A folder that is served without an admin on purpose stays as it is.
    return this.#options.withoutAdmin ? Promise.resolve() : this.#noteNoAdmin();
  }

  /** A settings file without an admin distinguishes the folder from one whose settings were lost. */
  async #noteNoAdmin(): Promise<void> {
    const { dataFolder, configFile, log } = this.#options;
    if (dataFolder === undefined || configFile === undefined) return;
    if (resolve(configFile) !== resolve(dataFolder, CONFIG_FILE) || (await isThere(configFile))) return;
    await createConfigFile(configFile).catch((error: unknown) => {
      // On a full disk everything else goes on.
      const reason = error instanceof Error ? error.message : String(error);
      log.error(`${configFile} could not be created (${reason}); the next start tries again.`);
    });
  }

  /** Resolves when nothing more is written into the folder. The passwords of admins may be hashed, and so change, even after that. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#marking;
  }

  #mark(config: ConfigStore): Promise<void> {
    const { place, marks, log } = this.#options;
    if (this.#isClosed) return this.#marking;
    this.#marking = this.#marking
      .then(() => marks.markAdmins(hasAdmin(config)))
      .catch((error: unknown) =>
        log.error(`The mark in ${place} that says whether its server has admins could not be written.`, error),
      );
    return this.#marking;
  }

  #refusal(why: string): DatabaseError {
    const { place, command } = this.#options;
    return new DatabaseError(
      'bad_request',
      `Settee does not serve ${place}: ${why}. Everyone who can reach the server could do everything with all data. Add an admin with "${command}"; or name the server's configuration file with --config; or, if you want no admin, use --without-admin.`,
    );
  }
}

export function hasAdmin(config: ConfigStore): boolean {
  return Object.keys(config.section('admins')).length > 0;
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}

const DEFAULT_DATA_FOLDER = './data';
const NEEDS_NO_QUOTES = /^[\w./:\\-]+$/;

/**
 * The command that sets an admin where this server looks for one. `configFile`: undefined for a server in memory that has none. `settee`: how
 * to call the program on this machine.
 */
export function adminCommand(
  configFile: string | undefined,
  dataFolder: string | undefined,
  settee = nameOfProgram(process.env),
): string {
  if (configFile === undefined) return `${settee} serve --memory --set admins/NAME=PASSWORD`;
  const add = `${settee} admin add NAME`;
  if (resolve(configFile) === resolve(DEFAULT_DATA_FOLDER, CONFIG_FILE)) return add;
  const isInFolder = dataFolder !== undefined && resolve(configFile) === resolve(join(dataFolder, CONFIG_FILE));
  return isInFolder ? `${add} --data ${quoted(dataFolder)}` : `${add} --config ${quoted(resolve(configFile))}`;
}

/** The command for a server whose settings are in its storage. */
export function storageAdminCommand(settee = nameOfProgram(process.env)): string {
  return `${settee} admin add NAME --storage URL`;
}

/** When started by npm or npx it lies in a project's folder, where a shell does not look for programs. */
export function nameOfProgram(env: Readonly<Record<string, string | undefined>>): 'settee' | 'npx settee' {
  return env['npm_execpath'] === undefined ? 'settee' : 'npx settee';
}

function quoted(path: string): string {
  return NEEDS_NO_QUOTES.test(path) ? path : JSON.stringify(path);
}
