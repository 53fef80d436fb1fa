import { DatabaseError } from '../../base/errors/database-error.ts';
import type { ConfigStore, SettingName, Settings } from '../../base/system/contract.ts';
import { ownName } from '../../core/config/setting-names.ts';

/** The settings of the owner as they were at one time. After a change the owner sends all of them again. */
export class ReceivedSettings implements ConfigStore {
  readonly #settings: Settings;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get(section: string, key: string): string | undefined {
    const keys = Object.hasOwn(this.#settings, section) ? this.#settings[section] : undefined;
    return keys !== undefined && Object.hasOwn(keys, key) ? keys[key] : undefined;
  }

  ownName(section: string, key: string): SettingName {
    return ownName(section, key);
  }

  sections(): Settings {
    return this.#settings;
  }

  section(name: string): Readonly<Record<string, string>> {
    return Object.hasOwn(this.#settings, name) ? (this.#settings[name] ?? {}) : {};
  }

  set(): Promise<never> {
    return Promise.reject(readOnly());
  }

  delete(): Promise<never> {
    return Promise.reject(readOnly());
  }

  preview(): never {
    throw readOnly();
  }

  /** These settings never change. */
  onChange(): () => void {
    return () => undefined;
  }
}

function readOnly(): DatabaseError {
  return new DatabaseError('modification_not_allowed', 'Only the process that owns the databases changes settings.');
}
