/** The settings of the server. Old servers of the family have them at `_config`, later ones below `_node`; Settee has both. */
import { ask } from './client.ts';
import { isMissingEndpoint, server } from './session.ts';

/** Values by section and key. */
export type Configuration = Readonly<Record<string, Readonly<Record<string, string>>>>;

const PATHS = ['_config', '_node/_local/_config'] as const;

let known: string | undefined;

/** The server does not show its settings over HTTP. */
export class NoConfigurationError extends Error {}

/** Returns the path of all settings, of a section, or of one setting. Fails with `NoConfigurationError` if the server shows none. */
export async function configurationPath(section?: string, key?: string): Promise<string> {
  known ??= server.value?.isSettee === true ? PATHS[0] : await findPath();
  return [known, ...(section === undefined ? [] : [section]), ...(key === undefined ? [] : [key])]
    .map((part, index) => (index === 0 ? part : encodeURIComponent(part)))
    .join('/');
}

export async function readConfiguration(signal?: AbortSignal): Promise<Configuration> {
  return ask('GET', await configurationPath(), { signal, quiet: true });
}

/** `{}` if there is no such section. */
export async function readSection(section: string, signal?: AbortSignal): Promise<Readonly<Record<string, string>>> {
  return ask('GET', await configurationPath(section), { signal, quiet: true });
}

async function findPath(): Promise<string> {
  for (const path of PATHS) {
    try {
      await ask('GET', `${path}/log`, { quiet: true });
      return path;
    } catch (failure) {
      if (!isMissingEndpoint(failure)) throw failure;
    }
  }
  throw new NoConfigurationError('This server does not show its settings over HTTP.');
}
