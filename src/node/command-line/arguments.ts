import { type ParseArgsConfig, parseArgs } from 'node:util';
import { isDatabaseError } from '../../base/errors/database-error.ts';
import { LOG_LEVELS } from '../../base/system/log.ts';
import { isStorageUrl } from '../../storage/postgres/storage-url.ts';
import { DEMO_PORT } from '../server/demo.ts';
import type { ServeOptions } from '../server/serve.ts';
import { assertServerOptions } from '../server/server.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { inputFormats } from '../transfer/document-splitter.ts';
import { type ExportFileOptions, outputFormats } from '../transfer/export.ts';
import type { ImportFileOptions } from '../transfer/import.ts';
import type { AddAdminOptions } from './add-admin.ts';
import { type CommandName, commandNames } from './help.ts';
import type { ReplicateOptions } from './replicate.ts';
import { replicateFlags, toReplicateOptions } from './replicate-arguments.ts';

/** What the command line asks for, checked. */
export type Command =
  | { readonly name: 'help'; readonly topic: CommandName | undefined }
  | { readonly name: 'version' }
  | { readonly name: 'serve'; readonly options: ServeOptions }
  | ({ readonly name: 'import' } & ImportFileOptions)
  | ({ readonly name: 'export' } & ExportFileOptions)
  | ({ readonly name: 'replicate' } & ReplicateOptions)
  | {
      readonly name: 'verify';
      readonly dataFolder: string;
      readonly databases: readonly string[];
      readonly repair: boolean;
    }
  | {
      readonly name: 'backup';
      readonly dataFolder: string;
      readonly target: string;
      readonly configFile: string | undefined;
    }
  | { readonly name: 'restore'; readonly source: string; readonly dataFolder: string }
  | ({ readonly name: 'admin' } & AddAdminOptions);

type Environment = Readonly<Record<string, string | undefined>>;

/** Throws a `UsageError` for arguments that it does not understand. Without a command it is `serve`. */
export function parseCommand(argv: readonly string[], environment: Environment): Command {
  const [first, ...others] = argv;
  if (first === '-v' || first === '--version' || first === 'version') return { name: 'version' };
  if (first === '-h' || first === '--help' || first === 'help') {
    return { name: 'help', topic: others[0] === undefined ? undefined : toCommandName(others[0]) };
  }
  if (first === undefined || first.startsWith('-')) return parseOptions('serve', argv, environment);
  return parseOptions(toCommandName(first), others, environment);
}

function toCommandName(text: string): CommandName {
  const found = commandNames.find((name) => name === text);
  if (found !== undefined) return found;
  throw new UsageError(`There is no command "${text}". The commands are: ${commandNames.join(', ')}.`);
}

function parseOptions(name: CommandName, argv: readonly string[], environment: Environment): Command {
  const flags = argv.slice(0, argv.includes('--') ? argv.indexOf('--') : argv.length);
  if (flags.includes('--help') || flags.includes('-h')) return { name: 'help', topic: name };
  if (flags.includes('--version') || flags.includes('-v')) return { name: 'version' };
  return parsers[name](argv, environment);
}

const dataOption = { data: { type: 'string', short: 'd' } } as const;

const parsers: Readonly<Record<CommandName, (argv: readonly string[], environment: Environment) => Command>> = {
  serve: parseServe,
  import: parseImport,
  export: parseExport,
  replicate: (argv, environment) => {
    const { values, positionals } = parseFlags('replicate', argv, { ...dataOption, ...replicateFlags });
    const folder = dataFolder(values.data, environment);
    return { name: 'replicate', ...toReplicateOptions(values, positionals, folder) };
  },
  verify: (argv, environment) => {
    const { values, positionals } = parseFlags('verify', argv, { ...dataOption, repair: { type: 'boolean' } });
    const { data, repair = false } = values;
    return { name: 'verify', dataFolder: dataFolder(data, environment), databases: positionals, repair };
  },
  backup: (argv, environment) => {
    const { values, positionals } = parseFlags('backup', argv, { ...dataOption, config: { type: 'string' } });
    const [target] = atMost(positionals, 1, 'backup');
    if (target === undefined) throw new UsageError('Name the folder for the backup: settee backup TARGET', 'backup');
    const settings = configFile('backup', values.config, environment);
    return { name: 'backup', dataFolder: dataFolder(values.data, environment), target, configFile: settings };
  },
  restore: (argv) => {
    const { values, positionals } = parseFlags('restore', argv, { ...dataOption });
    const [source] = atMost(positionals, 1, 'restore');
    // Neither the environment nor a default sets the folder, so that no one restores into the one in use by accident.
    if (source === undefined || values.data === undefined) {
      throw new UsageError('Name both folders: settee restore SOURCE --data FOLDER', 'restore');
    }
    return { name: 'restore', source, dataFolder: values.data };
  },
  admin: parseAdmin,
};

function parseAdmin(argv: readonly string[], environment: Environment): Command {
  const { values, positionals } = parseFlags('admin', argv, {
    ...dataOption,
    config: { type: 'string' },
    storage: { type: 'string' },
  });
  const [verb, admin] = atMost(positionals, 2, 'admin');
  if (verb !== 'add' || admin === undefined || admin === '') {
    throw new UsageError('Name the admin: settee admin add NAME', 'admin');
  }
  // Names and passwords are sent with a colon between them.
  if (admin.includes(':')) throw new UsageError("The name of an admin can't contain a colon.", 'admin');
  return {
    name: 'admin',
    admin,
    dataFolder: dataFolder(values.data, environment),
    configFile: configFile('admin', values.config, environment),
    storage: storageUrl('admin', values, environment),
  };
}

function parseServe(argv: readonly string[], environment: Environment): Command {
  const { values, positionals } = parseFlags('serve', argv, {
    ...dataOption,
    port: { type: 'string', short: 'p' },
    host: { type: 'string' },
    'allow-host': { type: 'string', multiple: true },
    memory: { type: 'boolean' },
    storage: { type: 'string' },
    announce: { type: 'string' },
    'log-level': { type: 'string' },
    config: { type: 'string' },
    'tls-cert': { type: 'string' },
    'tls-key': { type: 'string' },
    'demo-port': { type: 'string' },
    'no-demo': { type: 'boolean' },
    'without-admin': { type: 'boolean' },
    set: { type: 'string', multiple: true },
  });
  atMost(positionals, 0, 'serve');
  if (values.memory && values.data !== undefined) {
    throw new UsageError('--memory uses no data folder; leave out --data or --memory.', 'serve');
  }
  if (values.memory && values.storage !== undefined) {
    throw new UsageError('--memory keeps everything in memory; leave out --storage or --memory.', 'serve');
  }
  if (values['no-demo'] && values['demo-port'] !== undefined) {
    throw new UsageError('--no-demo serves no demo; leave out --demo-port or --no-demo.', 'serve');
  }
  const port = parsePort(values.port, environment);
  const options = {
    host: values.host ?? environment['SETTEE_HOST'],
    allowedHosts: values['allow-host'] ?? [],
    port,
    demoPort: values['no-demo'] ? undefined : parseDemoPort(values['demo-port'], port),
    dataFolder: dataFolder(values.data, environment),
    memory: values.memory ?? false,
    storage: values.memory ? undefined : storageUrl('serve', values, environment),
    announce: values.announce ?? environment['SETTEE_ANNOUNCE'],
    withoutAdmin: values['without-admin'] ?? false,
    logLevel: optional(values['log-level'], (level) => oneOf(level, LOG_LEVELS, '--log-level', 'serve')),
    configFile: configFile('serve', values.config, environment),
    tlsCert: values['tls-cert'],
    tlsKey: values['tls-key'],
    config: parseSettings(values.set ?? []),
  };
  return { name: 'serve', options: checked(options) };
}

/** Options with which the server would refuse to start are a usage error. */
function checked(options: ServeOptions): ServeOptions {
  try {
    assertServerOptions(options);
    return options;
  } catch (error) {
    if (isDatabaseError(error, 'bad_request')) throw new UsageError(error.reason, 'serve');
    throw error;
  }
}

function parseImport(argv: readonly string[]): Command {
  const { values, positionals } = parseFlags('import', argv, {
    create: { type: 'boolean' },
    id: { type: 'string' },
    'new-edits': { type: 'string' },
    format: { type: 'string' },
    'batch-size': { type: 'string' },
    refused: { type: 'string' },
    attachments: { type: 'string' },
  });
  const [url, file] = atMost(positionals, 2, 'import');
  if (url === undefined || file === undefined) {
    throw new UsageError('Name the database and the file: settee import URL FILE', 'import');
  }
  return {
    name: 'import',
    url,
    file,
    create: values.create ?? false,
    idMember: values.id,
    newEdits: oneOf(values['new-edits'] ?? 'true', ['true', 'false'], '--new-edits', 'import') === 'true',
    format: oneOf(values.format ?? 'auto', inputFormats, '--format', 'import'),
    batchSize: wholeNumber(
      values['batch-size'] ?? '1000',
      { flag: '--batch-size', lowest: 1, highest: 100_000 },
      'import',
    ),
    refusedFile: values.refused,
    attachments: folderOf(values.attachments, 'import'),
  };
}

function parseExport(argv: readonly string[]): Command {
  const { values, positionals } = parseFlags('export', argv, {
    format: { type: 'string' },
    attachments: { type: 'string' },
  });
  const [url, file = '-'] = atMost(positionals, 2, 'export');
  if (url === undefined) throw new UsageError('Name the database: settee export URL [FILE]', 'export');
  return {
    name: 'export',
    url,
    file,
    format: oneOf(values.format ?? 'lines', outputFormats, '--format', 'export'),
    attachments: folderOf(values.attachments, 'export'),
  };
}

function folderOf(attachments: string | undefined, topic: CommandName): string | undefined {
  if (attachments !== '') return attachments;
  throw new UsageError('--attachments is empty; name a folder.', topic);
}

function parseFlags<T extends NonNullable<ParseArgsConfig['options']>>(
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

function atMost(positionals: readonly string[], count: number, topic: CommandName): readonly string[] {
  const surplus = positionals[count];
  if (surplus === undefined) return positionals;
  throw new UsageError(`"${surplus}" is one argument too many.`, topic);
}

function dataFolder(given: string | undefined, environment: Environment): string {
  const folder = given ?? environment['SETTEE_DATA'] ?? './data';
  if (folder !== '') return folder;
  throw new UsageError(`${given === undefined ? 'SETTEE_DATA' : '--data'} is empty; name a folder.`);
}

function configFile(
  command: 'serve' | 'admin' | 'backup',
  given: string | undefined,
  environment: Environment,
): string | undefined {
  const file = given ?? environment['SETTEE_CONFIG'];
  if (file !== '') return file;
  throw new UsageError(`${given === undefined ? 'SETTEE_CONFIG' : '--config'} is empty; name a file.`, command);
}

/** Undefined: a data folder. A folder that the command names takes precedence over the environment. */
function storageUrl(
  command: 'serve' | 'admin',
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

/** Undefined: the configuration sets it. */
function parsePort(given: string | undefined, environment: Environment): number | undefined {
  const flag = given === undefined ? 'SETTEE_PORT' : '--port';
  return optional(given ?? environment['SETTEE_PORT'], (text) =>
    wholeNumber(text, { flag, lowest: 0, highest: 65_535 }, 'serve'),
  );
}

function optional<T>(text: string | undefined, parse: (text: string) => T): T | undefined {
  return text === undefined ? undefined : parse(text);
}

/** If the server takes any free port, several servers are likely to run, so the demo also takes any free port. */
function parseDemoPort(given: string | undefined, serverPort: number | undefined): number {
  if (given === undefined) return serverPort === 0 ? 0 : DEMO_PORT;
  return wholeNumber(given, { flag: '--demo-port', lowest: 0, highest: 65_535 }, 'serve');
}

interface NumberRange {
  readonly flag: string;
  readonly lowest: number;
  readonly highest: number;
}

function wholeNumber(text: string, { flag, lowest, highest }: NumberRange, topic: CommandName): number {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= lowest && value <= highest) return value;
  throw new UsageError(`${flag} is "${text}"; it must be a whole number from ${lowest} to ${highest}.`, topic);
}

function oneOf<T extends string>(text: string, choices: readonly T[], flag: string, topic: CommandName): T {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new UsageError(`${flag} is "${text}"; it must be one of ${choices.join(', ')}.`, topic);
}

/** A section ends at the first slash, the section of one host at the last slash before the value: `cors:http://example.com/origins=*`. */
const SETTING = /^(cors:[^=]+|[^/=]+)\/([^=]+)=(.*)$/s;

/** Parses texts `section/key=value`; if a key occurs twice, the later value applies. */
function parseSettings(texts: readonly string[]): Record<string, Record<string, string>> {
  const settings = new Map<string, Map<string, string>>();
  for (const text of texts) {
    const [, section, key, value] = SETTING.exec(text) ?? [];
    if (section === undefined || key === undefined || value === undefined) {
      throw new UsageError(`--set is "${text}"; it must be SECTION/KEY=VALUE, as in svc/max_dbs_open=200.`, 'serve');
    }
    settings.set(section, (settings.get(section) ?? new Map<string, string>()).set(key, value));
  }
  return Object.fromEntries([...settings].map(([section, keys]) => [section, Object.fromEntries(keys)]));
}
