/** Stores settings as one JSON document, for services that have no file for them. */
import type { SettingName, Settings } from '../../base/system/contract.ts';
import type { ConfigStorage } from './contract.ts';

/** Where the document is stored. */
interface KeptText {
  /** Undefined if nothing was stored yet. */
  readonly settings: string | undefined;
  keepSettings(text: string): Promise<void>;
}

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
