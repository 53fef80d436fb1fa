/** The arguments of the command. */
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { RefusalError } from './checks.mjs';
import { FRAMEWORKS } from './frameworks.mjs';

const names = Object.keys(FRAMEWORKS).join(', ');

export const HELP = `Makes an app with Settee: its data is on the device, it works offline, and it can be installed.

  npm create settee@latest
  npm create settee@latest my-app -- --framework react --server

  create-settee [folder] [options]

It asks for what no option says. The folder must be empty or absent; its last part is the app's name.

  --framework NAME       one of ${names}
  --server, --no-server  with a server of your own, or without: log-in, and sync between devices
  --yes                  asks nothing: what no option says is my-app, none, --no-server
  --settee PATH          the package settee: a tarball or a folder, instead of the one in npm's registry
  --settee-server PATH   the same for the package settee-server
  --help, --version`;

const OPTIONS = {
  framework: { type: 'string' },
  server: { type: 'boolean' },
  yes: { type: 'boolean', short: 'y' },
  settee: { type: 'string' },
  'settee-server': { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
};

/** Returns what was given; what was not is undefined. Throws a RefusalError for what can't be understood. */
export function readOptions(given) {
  const { values, positionals } = parse(given);
  if (positionals.length > 1) {
    throw new RefusalError(
      `Only one folder can be given, and these are ${positionals.length}: ${positionals.join(' ')}. See --help.`,
    );
  }
  if (values.framework !== undefined) checkFramework(values.framework);
  return {
    target: positionals[0],
    framework: values.framework,
    server: values.server,
    yes: values.yes ?? false,
    help: values.help ?? false,
    version: values.version ?? false,
    setteePath: toPackage(values, 'settee'),
    setteeServerPath: toPackage(values, 'settee-server'),
  };
}

/** Throws a RefusalError unless there is a framework of that name. */
export function checkFramework(name) {
  if (!Object.hasOwn(FRAMEWORKS, name))
    throw new RefusalError(`There is no framework ${JSON.stringify(name)} here. Choose one of ${names}.`);
}

function parse(given) {
  try {
    return parseArgs({ args: given, options: OPTIONS, allowPositionals: true, allowNegative: true });
  } catch (error) {
    throw new RefusalError(`${error.message} See --help.`);
  }
}

function toPackage(values, option) {
  if (values[option] === undefined) return undefined;
  const path = resolve(values[option]);
  if (!existsSync(path)) throw new RefusalError(`--${option}: there is no file or folder ${path}.`);
  return path;
}
