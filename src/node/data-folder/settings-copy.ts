/** Settings and admins in backups (docs/node.md#backup-and-restore). */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Settings } from '../../base/system/contract.ts';
import { hasCode } from '../../storage/lmdb/folder.ts';
import { hasAdminMark, markAdmins } from './data-folder.ts';
import { CONFIG_FILE, replaceSecretFile } from './ini-file.ts';
import { editIni, readIni } from './ini-text.ts';
import type { KeptSettings } from './maintained-storage.ts';

/** What happened to the settings. */
export interface SettingsOutcome {
  /** Of the copied file; undefined if none was copied. */
  readonly bytes: number | undefined;
  /** What the user must know or do; undefined if nothing. */
  readonly problem: string | undefined;
  /** Whether the copy lacks something that existed. */
  readonly isLoss: boolean;
}

/** What a backup contains for a server that has no settings. */
const NONE = `; The server whose data this is had no configuration file when this backup was made.
`;

/**
 * Copies the settings of a data folder into a backup. `configFile`: their path. A backup always has a settings file, so that a backup of
 * a version without them can be told from it.
 */
export async function backUpSettings(options: {
  readonly dataFolder: string;
  readonly target: string;
  readonly configFile: string | undefined;
}): Promise<SettingsOutcome> {
  const { dataFolder, target, configFile } = options;
  const path = configFile ?? join(dataFolder, CONFIG_FILE);
  return writeBackup(target, await readSettings(path), {
    ifMissing: `${path} does not exist`,
    isNamed: configFile !== undefined,
    isMarked: await hasAdminMark(dataFolder),
  });
}

/** Like `backUpSettings`, for the settings in the table of a storage. */
export async function backUpTable(
  { settings, hasAdmins }: { readonly settings: Settings; readonly hasAdmins: boolean },
  { target, configFile }: { readonly target: string; readonly configFile: string | undefined },
): Promise<SettingsOutcome> {
  const isMarked = hasAdmins;
  if (configFile !== undefined) {
    const ifMissing = `${configFile} does not exist`;
    return writeBackup(target, await readSettings(configFile), { ifMissing, isNamed: true, isMarked });
  }
  const text = isEmpty(settings) ? undefined : Buffer.from(writeIni(settings));
  return writeBackup(target, text, { ifMissing: 'its table of settings is empty', isNamed: false, isMarked });
}

export function isEmpty(settings: Settings): boolean {
  return Object.values(settings).every((keys) => Object.keys(keys).length === 0);
}

/** The text of a settings file. */
function writeIni(settings: Settings): string {
  let text = '';
  for (const [section, keys] of Object.entries(settings)) {
    for (const [key, value] of Object.entries(keys)) text = editIni(text, CONFIG_FILE, section, key, value);
  }
  return text;
}

interface FoundSettings {
  /** Where they should be, and are not. */
  readonly ifMissing: string;
  /** Whether the user named the path. */
  readonly isNamed: boolean;
  /** Whether the server has admins. */
  readonly isMarked: boolean;
}

async function writeBackup(
  target: string,
  settings: Buffer | undefined,
  { ifMissing, isNamed, isMarked }: FoundSettings,
): Promise<SettingsOutcome> {
  await replaceSecretFile(join(target, CONFIG_FILE), settings ?? NONE);
  await markAdmins(target, isMarked);
  if (settings !== undefined) return { bytes: settings.length, problem: undefined, isLoss: false };
  const missing = isNamed
    ? `The backup has no settings: ${ifMissing}. Name the server's configuration file with --config.`
    : undefined;
  const problem = isMarked
    ? `The backup has no settings and no admins, although the server has admins: ${ifMissing}. Make the backup again and name the server's configuration file with --config. If admins are set by flags, serve a restored folder with the same flags.`
    : missing;
  return { bytes: undefined, problem, isLoss: isMarked };
}

/**
 * Copies the settings of a backup into a data folder. Settings that it already has stay. Marks the folder if it has no admin, and the backup
 * can't confirm that there was none: it is then not served until it has one.
 */
export async function restoreSettings(options: {
  readonly source: string;
  readonly dataFolder: string;
}): Promise<SettingsOutcome> {
  const { source, dataFolder } = options;
  const path = join(dataFolder, CONFIG_FILE);
  const settings = await readSettings(join(source, CONFIG_FILE), true);
  const there = await readSettings(path);
  const isNone = settings?.toString() === NONE;
  const isOther = there !== undefined && settings !== undefined && !isNone && !there.equals(settings);
  if (settings !== undefined && there === undefined) await replaceSecretFile(path, settings);
  const isMarked = settings === undefined || (await hasAdminMark(source)) || (await hasAdminMark(dataFolder));
  const lacksAdmin = isMarked && !namesAdmin(there ?? settings, path);
  await markAdmins(dataFolder, isMarked);
  const problems = [
    isOther
      ? `${path} existed already and was not changed; the settings of the backup are in ${join(source, CONFIG_FILE)}.`
      : '',
    settings === undefined
      ? 'The backup was made by an older version of Settee: it has no settings and no admins.'
      : '',
    lacksAdmin ? noAdmin(dataFolder) : '',
  ].filter((one) => one !== '');
  return {
    bytes: isOther || isNone ? undefined : settings?.length,
    problem: problems.length === 0 ? undefined : problems.join(' '),
    isLoss: false,
  };
}

/** Like `restoreSettings`, into a storage. Settings that it already has stay. */
export async function restoreIntoTable(source: string, kept: KeptSettings): Promise<SettingsOutcome> {
  const path = join(source, CONFIG_FILE);
  const text = await readSettings(path, true);
  const settings = text === undefined ? {} : readIni(text.toString(), path);
  const isMarked = text === undefined || (await hasAdminMark(source)) || (await kept.hasAdminMark());
  const isKept = !isEmpty(settings) && (await fillSettings(kept, settings)) === 'others';
  await kept.markAdmins(isMarked);
  const lacksAdmin = isMarked && Object.keys((await kept.load())['admins'] ?? {}).length === 0;
  const problems = [
    isKept ? `${kept.place} has settings already, which were not changed; those of the backup are in ${path}.` : '',
    text === undefined ? 'The backup was made by an older version of Settee: it has no settings and no admins.' : '',
    lacksAdmin
      ? 'THE RESTORED STORAGE HAS NO ADMIN, and is not served until it has one: "settee admin add NAME --storage URL" adds one.'
      : '',
  ].filter((one) => one !== '');
  return {
    bytes: isKept || isEmpty(settings) ? undefined : text?.length,
    problem: problems.length === 0 ? undefined : problems.join(' '),
    isLoss: false,
  };
}

/** Stores settings where there are none. Those that are there stay; returns whether they are others. */
export async function fillSettings(kept: KeptSettings, settings: Settings): Promise<'filled' | 'same' | 'others'> {
  const there = await kept.load();
  if (isSame(there, settings)) return 'same';
  if (!isEmpty(there)) return 'others';
  for (const [section, keys] of Object.entries(settings)) {
    for (const [key, value] of Object.entries(keys)) await kept.write([{ section, key }], value);
  }
  return 'filled';
}

function isSame(left: Settings, right: Settings): boolean {
  return sorted(left) === sorted(right);
}

function sorted(settings: Settings): string {
  const lines = Object.entries(settings).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, value]) => JSON.stringify([section, key, value])),
  );
  return lines.sort().join('\n');
}

function noAdmin(dataFolder: string): string {
  return `THE RESTORED FOLDER HAS NO ADMIN, and is not served until it has one: "settee admin add NAME --data ${dataFolder}" adds one. "settee serve --without-admin" serves it anyway; then everyone who can reach the server may do everything with all data.`;
}

function namesAdmin(settings: Buffer | undefined, path: string): boolean {
  try {
    return Object.keys(readIni(settings?.toString() ?? '', path)['admins'] ?? {}).length > 0;
  } catch {
    // The server does not start with such a file.
    return true;
  }
}

/** Undefined if there is no such file. */
async function readSettings(path: string, takesNone = false): Promise<Buffer | undefined> {
  try {
    const settings = await readFile(path);
    return takesNone || settings.toString() !== NONE ? settings : undefined;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
    const why = error instanceof Error ? error.message : String(error);
    const reason = `The settings ${path} can't be read: ${why}. Run the command as the user to whom they belong.`;
    throw new DatabaseError('storage_failed', reason, { cause: error });
  }
}
