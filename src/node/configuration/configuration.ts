/** The settings of a server: those from flags and the environment, over its configuration file, over its preset, over the defaults. */

import type { Log, Settings } from '../../base/system/contract.ts';
import type { LogLevel } from '../../base/system/log.ts';
import { type ConfigStorage, createSettingsDocument } from '../../core/config/config-storage.ts';
import { createConfig, type SettingsStore } from '../../core/config/config-store.ts';
import { IniFile } from '../data-folder/ini-file.ts';
import { createIssuerCheck } from '../network/trusted-issuers.ts';
import { type PresetName, presetSettings } from './presets.ts';
import { checkUserDatabases } from './user-databases-check.ts';

/** The settings that a start passes. */
export interface GivenOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly tlsCert?: string | undefined;
  readonly tlsKey?: string | undefined;
  readonly config?: Settings | undefined;
  readonly preset?: PresetName | undefined;
}

/** Options that are also settings are treated as those settings: they take precedence over the file, and `_config` shows them. */
function givenSettings({ host, port, logLevel, tlsCert, tlsKey, config = {} }: GivenOptions): Settings {
  const settings: Record<string, Readonly<Record<string, string>>> = { ...config };
  const give = (section: string, key: string, value: string | undefined) => {
    if (value !== undefined) settings[section] = { ...settings[section], [key]: value };
  };
  give('httpd', 'port', port === undefined ? undefined : `${port}`);
  give('httpd', 'bind_address', host);
  give('log', 'level', logLevel);
  give('ssl', 'cert_file', tlsCert);
  give('ssl', 'key_file', tlsKey);
  return settings;
}

/** Returns the given settings over the preset's and the defaults. Fails with `bad_request` on an invalid one. */
export function givenConfig(options: GivenOptions, log?: Log): SettingsStore {
  return createConfig(givenSettings(options), log, presetSettings(options.preset), {
    jwt_issuers: createIssuerCheck(),
    couch_peruser: checkUserDatabases,
  });
}

/**
 * Where settings are kept from one opening of the service to the next: in the file, which need not exist; without one in memory, until the process
 * ends.
 */
export function settingsStorage(file: string | undefined, log: Log): ConfigStorage {
  return file === undefined ? createSettingsDocument(new MemoryText()) : new IniFile(file, log);
}

class MemoryText {
  settings: string | undefined;

  async keepSettings(text: string): Promise<void> {
    this.settings = text;
  }
}

/**
 * Fails with `bad_request` on an invalid value of a setting, and on a file that can't be read: a server that ignored what it does not understand
 * could be open to everyone.
 */
export async function openConfiguration(
  options: GivenOptions,
  storage: ConfigStorage,
  log: Log,
): Promise<SettingsStore> {
  const config = givenConfig(options, log);
  await config.keepIn(storage);
  return config;
}
