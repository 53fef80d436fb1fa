import { DatabaseError } from '../../base/errors/database-error.ts';
import { Notifier } from '../../base/shared/notifier.ts';
import type { ConfigChange, ConfigStore, SettingName, Settings } from '../../base/system/contract.ts';
import { ownName } from '../../core/config/setting-names.ts';
import type { SentSettings } from './frames.ts';

/** The settings of the owner, which sends all of them at first and after each change. */
export class FollowedSettings implements ConfigStore {
  #settings: Settings = {};
  readonly #listeners = new Notifier<ConfigChange>();

  /** What the owner calls them. */
  version = '';

  /** Replaces all settings. Then notifies the listeners, once for each setting whose value is another one now. */
  receive({ version, settings }: SentSettings): void {
    this.version = version;
    const before = this.#settings;
    this.#settings = settings;
    for (const section of new Set([...Object.keys(before), ...Object.keys(settings)])) {
      const [former, present] = [membersOf(before, section), membersOf(settings, section)];
      for (const key of new Set([...Object.keys(former), ...Object.keys(present)])) {
        const [was, value] = [ownValue(former, key), ownValue(present, key)];
        if (value !== was) this.#listeners.notify({ section, key, value, before: was });
      }
    }
  }

  get(section: string, key: string): string | undefined {
    return ownValue(membersOf(this.#settings, section), key);
  }

  ownName(section: string, key: string): SettingName {
    return ownName(section, key);
  }

  sections(): Settings {
    return this.#settings;
  }

  section(name: string): Readonly<Record<string, string>> {
    return membersOf(this.#settings, name);
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

  onChange(listener: (change: ConfigChange) => void): () => void {
    return this.#listeners.listen(listener);
  }
}

function membersOf(settings: Settings, section: string): Readonly<Record<string, string>> {
  return Object.hasOwn(settings, section) ? (settings[section] ?? {}) : {};
}

function ownValue(members: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(members, key) ? members[key] : undefined;
}

function readOnly(): DatabaseError {
  return new DatabaseError('not_owner', 'Only the process that owns the databases changes settings.');
}
