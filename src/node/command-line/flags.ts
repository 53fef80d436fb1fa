/** What the parsers of all commands share. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isStorageUrl } from '../../storage/postgres/storage-url.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { CommandName } from './help.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Options that say where databases are. */
export const placeOptions = { data: { type: 'string', short: 'd' }, storage: { type: 'string' } } as const;

export function parseFlags<T extends NonNullable<ParseArgsConfig['options']>>(
  name: CommandName,
  argv: readonly string[],
  options: T,
) {
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // The first sentence of Node's message says what is wrong; the others explain syntax that does not help here.
    throw new UsageError(`${error.message.split(/\.\s/)[0]?.replace(/\.$/, '')}.`, name);
  }
}

export function atMost(positionals: readonly string[], count: number, topic: CommandName): readonly string[] {
  const surplus = positionals[count];
  if (surplus === undefined) return positionals;
  throw new UsageError(`"${surplus}" is one argument too many.`, topic);
}

export function dataFolder(given: string | undefined, environment: Environment): string {
  const folder = given ?? environment['SETTEE_DATA'] ?? './data';
  if (folder !== '') return folder;
  throw new UsageError(`${given === undefined ? 'SETTEE_DATA' : '--data'} is empty; name a folder.`);
}

export function configFile(
  command: 'serve' | 'admin' | 'backup',
  given: string | undefined,
  environment: Environment,
): string | undefined {
  const file = given ?? environment['SETTEE_CONFIG'];
  if (file !== '') return file;
  throw new UsageError(`${given === undefined ? 'SETTEE_CONFIG' : '--config'} is empty; name a file.`, command);
}

/** Undefined: a data folder. A folder that the command names takes precedence over the environment. */
export function storageUrl(
  command: CommandName,
  { storage, data }: { readonly storage?: string | undefined; readonly data?: string | undefined },
  environment: Environment,
): string | undefined {
  if (storage !== undefined && data !== undefined) {
    throw new UsageError('--storage uses no data folder; leave out --data or --storage.', command);
  }
  const url = storage ?? (data === undefined ? environment['SETTEE_STORAGE'] : undefined);
  if (url === undefined || isStorageUrl(url)) return url;
  const flag = storage === undefined ? 'SETTEE_STORAGE' : '--storage';
  throw new UsageError(`${flag} must be a URL that begins with postgres:// (docs/node.md#postgresql).`, command);
}

export function optional<T>(text: string | undefined, parse: (text: string) => T): T | undefined {
  return text === undefined ? undefined : parse(text);
}

export interface NumberRange {
  readonly flag: string;
  readonly lowest: number;
  readonly highest: number;
}

export function wholeNumber(text: string, { flag, lowest, highest }: NumberRange, topic: CommandName): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= lowest && value <= highest) return value;
  throw new UsageError(`${flag} is "${text}"; it must be a whole number from ${lowest} to ${highest}.`, topic);
}

export function oneOf<T extends string>(text: string, choices: readonly T[], flag: string, topic: CommandName): T {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new UsageError(`${flag} is "${text}"; it must be one of ${choices.join(', ')}.`, topic);
}
