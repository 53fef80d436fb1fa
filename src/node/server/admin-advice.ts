import { join, resolve } from 'node:path';
import { CONFIG_FILE } from '../config-file/ini-file.ts';

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

/** When started by npm or npx it lies in a project's folder, where a shell does not look for programs. */
export function nameOfProgram(env: Readonly<Record<string, string | undefined>>): 'settee' | 'npx settee' {
  return env['npm_execpath'] === undefined ? 'settee' : 'npx settee';
}

function quoted(path: string): string {
  return NEEDS_NO_QUOTES.test(path) ? path : JSON.stringify(path);
}
