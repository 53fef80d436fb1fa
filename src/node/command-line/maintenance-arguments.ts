/** The options of the commands that work on databases without a server. */
import { isStorageUrl } from '../../storage/postgres/storage-url.ts';
import type { StoragePlace } from '../data-folder/maintained-storage.ts';
import { UsageError } from '../terminal/usage-error.ts';
import type { AddAdminOptions } from './add-admin.ts';
import { atMost, configFile, dataFolder, type Environment, parseFlags, placeOptions, storageUrl } from './flags.ts';
import type { CommandName } from './help.ts';

export type MaintenanceCommand =
  | ({ readonly name: 'verify'; readonly databases: readonly string[]; readonly repair: boolean } & StoragePlace)
  | ({ readonly name: 'compact'; readonly databases: readonly string[] } & StoragePlace)
  | ({ readonly name: 'backup'; readonly target: string; readonly configFile: string | undefined } & StoragePlace)
  | ({ readonly name: 'restore'; readonly source: string } & StoragePlace)
  | {
      readonly name: 'copy';
      readonly from: StoragePlace;
      readonly to: StoragePlace;
      readonly databases: readonly string[];
      readonly replace: boolean;
    }
  | ({ readonly name: 'admin' } & AddAdminOptions);

type Parser = (argv: readonly string[], environment: Environment) => MaintenanceCommand;

export const maintenanceParsers: Readonly<Record<MaintenanceCommand['name'], Parser>> = {
  verify: (argv, environment) => {
    const { values, positionals } = parseFlags('verify', argv, { ...placeOptions, repair: { type: 'boolean' } });
    const place = placeOf('verify', values, environment);
    return { name: 'verify', ...place, databases: positionals, repair: values.repair ?? false };
  },
  compact: (argv, environment) => {
    const { values, positionals } = parseFlags('compact', argv, placeOptions);
    return { name: 'compact', ...placeOf('compact', values, environment), databases: positionals };
  },
  backup: (argv, environment) => {
    const { values, positionals } = parseFlags('backup', argv, { ...placeOptions, config: { type: 'string' } });
    const [target] = atMost(positionals, 1, 'backup');
    if (target === undefined) throw new UsageError('Name the folder for the backup: settee backup TARGET', 'backup');
    const settings = configFile('backup', values.config, environment);
    return { name: 'backup', ...placeOf('backup', values, environment), target, configFile: settings };
  },
  restore: (argv) => {
    const { values, positionals } = parseFlags('restore', argv, placeOptions);
    const [source] = atMost(positionals, 1, 'restore');
    // Neither the environment nor a default names the target, so that no one restores into the one in use by accident.
    if (source === undefined || (values.data === undefined && values.storage === undefined)) {
      throw new UsageError(
        'Name both places: settee restore SOURCE --data FOLDER, or settee restore SOURCE --storage URL',
        'restore',
      );
    }
    return { name: 'restore', source, ...placeOf('restore', values, {}) };
  },
  copy: parseCopy,
  admin: parseAdmin,
};

interface PlaceValues {
  readonly data?: string | undefined;
  readonly storage?: string | undefined;
}

function placeOf(command: CommandName, values: PlaceValues, environment: Environment): StoragePlace {
  return {
    dataFolder: dataFolder(values.data, environment),
    storage: storageUrl(command, values, environment),
  };
}

function parseCopy(argv: readonly string[], environment: Environment): MaintenanceCommand {
  const { values, positionals } = parseFlags('copy', argv, {
    from: { type: 'string' },
    to: { type: 'string' },
    replace: { type: 'boolean' },
  });
  const { from, to, replace = false } = values;
  // One of the two may come from the environment, which then can't be meant for the other one.
  const storage = from === undefined || to === undefined ? environment['SETTEE_STORAGE'] : undefined;
  const [source, target] = [from ?? storage, to ?? storage];
  if (source === undefined || target === undefined || (from === undefined && to === undefined)) {
    throw new UsageError('Name both places: settee copy --from PLACE --to PLACE, each a data folder or a URL', 'copy');
  }
  return { name: 'copy', from: placeNamed(source), to: placeNamed(target), databases: positionals, replace };
}

/** A URL, or else a folder. The message repeats no URL, which may contain a password. */
function placeNamed(text: string): StoragePlace {
  if (isStorageUrl(text)) return { dataFolder: '', storage: text };
  if (text === '') throw new UsageError('--from and --to must not be empty; name a folder or a URL.', 'copy');
  if (!/^\w[\w+.-]+:\/\//.test(text)) return { dataFolder: text, storage: undefined };
  throw new UsageError(
    '--from and --to take a data folder, or a URL that begins with postgres:// (docs/node.md#postgresql). To copy from or to a server, use settee replicate.',
    'copy',
  );
}

function parseAdmin(argv: readonly string[], environment: Environment): MaintenanceCommand {
  const { values, positionals } = parseFlags('admin', argv, { ...placeOptions, config: { type: 'string' } });
  const [verb, admin] = atMost(positionals, 2, 'admin');
  if (verb !== 'add' || admin === undefined || admin === '') {
    throw new UsageError('Name the admin: settee admin add NAME', 'admin');
  }
  // Names and passwords are sent with a colon between them.
  if (admin.includes(':')) throw new UsageError("The name of an admin can't contain a colon.", 'admin');
  return {
    name: 'admin',
    admin,
    ...placeOf('admin', values, environment),
    configFile: configFile('admin', values.config, environment),
  };
}
