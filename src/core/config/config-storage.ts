/** Where settings are stored from one opening of the service to the next. */
import type { SettingName, Settings } from '../../base/system/contract.ts';

/** An INI file, or a document. It has one user at a time, with one call after another. */
export interface ConfigStorage {
  /** Returns the stored settings. Fails with `bad_request` if a file edited by hand can't be parsed. */
  load(): Promise<Settings>;
  /**
   * Stores a value, or deletes it if it is undefined. `names` are all names of the setting, our own first. The value is stored under one of them:
   * if a person wrote the setting, under the name that counts there. Deletes the others. Resolves when that would survive a crash.
   * If it rejects, the old value is kept.
   */
  write(names: readonly SettingName[], value: string | undefined): Promise<void>;
}

/** Where the document is stored. */
interface KeptText {
  /** Undefined if nothing was stored yet. */
  readonly settings: string | undefined;
  keepSettings(text: string): Promise<void>;
}

/** Stores settings as one JSON document, for services that have no file for them. */
export function createSettingsDocument(place: KeptText): ConfigStorage {
  return {
    load: async () => parse(place.settings),
    write: (names, value) => place.keepSettings(withSetting(parse(place.settings), names, value)),
  };
}

function parse(text: string | undefined): Settings {
  return text === undefined ? {} : (JSON.parse(text) as Settings);
}

/** Stores the value under our own name, the first one. */
function withSetting(settings: Settings, names: readonly SettingName[], value: string | undefined): string {
  const sections = new Map(Object.entries(settings));
  for (const [at, { section, key }] of names.entries()) {
    const keys = new Map(Object.entries(sections.get(section) ?? {}));
    if (at > 0 || value === undefined) keys.delete(key);
    else keys.set(key, value);
    if (keys.size === 0) sections.delete(section);
    else sections.set(section, Object.fromEntries(keys));
  }
  return JSON.stringify(Object.fromEntries(sections));
}
