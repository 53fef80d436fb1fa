import { availableParallelism } from 'node:os';
import { isDatabaseError } from '../../base/errors/database-error.ts';
import { LOG_LEVELS } from '../../base/system/log.ts';
import { type PresetName, presetNames } from '../configuration/presets.ts';
import { DEMO_PORT } from '../server/demo.ts';
import type { ServeOptions } from '../server/serve.ts';
import { assertServerOptions } from '../server/server.ts';
import { UsageError } from '../terminal/usage-error.ts';
import { inputFormats } from '../transfer/document-splitter.ts';
import { type ExportFileOptions, outputFormats } from '../transfer/export.ts';
import type { ImportFileOptions } from '../transfer/import.ts';
import {
  atMost,
  configFile,
  dataFolder,
  type Environment,
  oneOf,
  optional,
  parseFlags,
  placeOptions,
  storageUrl,
  wholeNumber,
} from './flags.ts';
import { type CommandName, commandNames } from './help.ts';
import { type MaintenanceCommand, maintenanceParsers } from './maintenance-arguments.ts';
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
  | MaintenanceCommand;

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

const parsers: Readonly<Record<CommandName, (argv: readonly string[], environment: Environment) => Command>> = {
  serve: parseServe,
  import: parseImport,
  export: parseExport,
  replicate: (argv, environment) => {
    const { values, positionals } = parseFlags('replicate', argv, { ...placeOptions, ...replicateFlags });
    const folder = dataFolder(values.data, environment);
    const storage = storageUrl('replicate', values, environment);
    return { name: 'replicate', ...toReplicateOptions(values, positionals, { dataFolder: folder, storage }) };
  },
  ...maintenanceParsers,
};

function parseServe(argv: readonly string[], environment: Environment): Command {
  const { values, positionals } = parseFlags('serve', argv, {
    ...placeOptions,
    port: { type: 'string', short: 'p' },
    host: { type: 'string' },
    'allow-host': { type: 'string', multiple: true },
    memory: { type: 'boolean' },
    announce: { type: 'string' },
    'log-level': { type: 'string' },
    config: { type: 'string' },
    'tls-cert': { type: 'string' },
    'tls-key': { type: 'string' },
    'demo-port': { type: 'string' },
    'no-demo': { type: 'boolean' },
    'without-admin': { type: 'boolean' },
    set: { type: 'string', multiple: true },
    preset: { type: 'string' },
    workers: { type: 'string' },
    cluster: { type: 'boolean' },
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
  const storage = values.memory ? undefined : storageUrl('serve', values, environment);
  const workers = parseWorkers(values.workers, environment);
  assertShareable(workers, values.memory ?? false);
  const port = parsePort(values.port, environment);
  const options = {
    host: values.host ?? environment['SETTEE_HOST'],
    allowedHosts: values['allow-host'] ?? [],
    port,
    demoPort: values['no-demo'] ? undefined : parseDemoPort(values['demo-port'], port),
    dataFolder: dataFolder(values.data, environment),
    memory: values.memory ?? false,
    storage,
    workers,
    cluster: parseCluster(values.cluster, storage, environment),
    ...parseLease(environment),
    announce: values.announce ?? environment['SETTEE_ANNOUNCE'],
    withoutAdmin: values['without-admin'] ?? false,
    logLevel: optional(values['log-level'], (level) => oneOf(level, LOG_LEVELS, '--log-level', 'serve')),
    configFile: configFile('serve', values.config, environment),
    tlsCert: values['tls-cert'],
    tlsKey: values['tls-key'],
    config: parseSettings(values.set ?? []),
    preset: parsePreset(values.preset, environment),
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

/** Undefined: the configuration sets it. */
function parsePort(given: string | undefined, environment: Environment): number | undefined {
  const flag = given === undefined ? 'SETTEE_PORT' : '--port';
  return optional(given ?? environment['SETTEE_PORT'], (text) =>
    wholeNumber(text, { flag, lowest: 0, highest: 65_535 }, 'serve'),
  );
}

const MAX_WORKERS = 64;

/** The number of processes that accept requests. 1, and undefined: the server is one process. */
function parseWorkers(given: string | undefined, environment: Environment): number | undefined {
  const flag = given === undefined ? 'SETTEE_WORKERS' : '--workers';
  return optional(given ?? environment['SETTEE_WORKERS'], (text) => {
    if (text === 'auto') return Math.min(MAX_WORKERS, availableParallelism());
    if (/^\d{1,9}$/.test(text)) return wholeNumber(text, { flag, lowest: 1, highest: MAX_WORKERS }, 'serve');
    throw new UsageError(`${flag} is "${text}"; it must be auto, or a whole number from 1 to ${MAX_WORKERS}.`, 'serve');
  });
}

/** Whether servers of one storage each own some of its databases. */
function parseCluster(
  given: boolean | undefined,
  storage: string | undefined,
  environment: Environment,
): true | undefined {
  const isWanted = given ?? environment['SETTEE_CLUSTER'] === '1';
  if (!isWanted) return undefined;
  if (storage !== undefined) return true;
  const flag = given === undefined ? 'SETTEE_CLUSTER' : '--cluster';
  throw new UsageError(`${flag} is for servers that share a storage in PostgreSQL; name it with --storage.`, 'serve');
}

/** For tests, which can't wait as long as servers usually do: it is not in the help. */
function parseLease(environment: Environment): Pick<ServeOptions, 'storageLeaseMs'> {
  const flag = 'SETTEE_STORAGE_LEASE_MS';
  const text = environment[flag];
  return text === undefined
    ? {}
    : { storageLeaseMs: wholeNumber(text, { flag, lowest: 500, highest: 60_000 }, 'serve') };
}

function assertShareable(workers: number | undefined, isInMemory: boolean): void {
  if (workers === undefined || workers === 1) return;
  if (isInMemory) {
    const reason = "Several processes can't share what one of them keeps in memory; leave out --workers or --memory.";
    throw new UsageError(reason, 'serve');
  }
  if (process.versions['bun'] !== undefined || process.versions['deno'] !== undefined) {
    throw new UsageError('Several processes for one server need Node; leave out --workers.', 'serve');
  }
}

function parsePreset(given: string | undefined, environment: Environment): PresetName | undefined {
  const flag = given === undefined ? 'SETTEE_PRESET' : '--preset';
  return optional(given ?? environment['SETTEE_PRESET'], (name) => oneOf(name, presetNames, flag, 'serve'));
}

/** If the server takes any free port, several servers are likely to run, so the demo also takes any free port. */
function parseDemoPort(given: string | undefined, serverPort: number | undefined): number {
  if (given === undefined) return serverPort === 0 ? 0 : DEMO_PORT;
  return wholeNumber(given, { flag: '--demo-port', lowest: 0, highest: 65_535 }, 'serve');
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
