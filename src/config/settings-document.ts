/** Keeps settings as one JSON document, for services that have no file for them. */
import type { Settings } from '../system/contract.ts';
import type { ConfigStorage } from './contract.ts';

/** Where the document is kept. */
interface KeptText {
  /** Undefined where nothing was kept yet. */
  readonly settings: string | undefined;
  keepSettings(text: string): Promise<void>;
}

export function createSettingsDocument(place: KeptText): ConfigStorage {
  return {
    load: async () => parse(place.settings),
    write: (section, key, value) => place.keepSettings(withSetting(parse(place.settings), section, key, value)),
  };
}

function parse(text: string | undefined): Settings {
  return text === undefined ? {} : (JSON.parse(text) as Settings);
}

function withSetting(settings: Settings, section: string, key: string, value: string | undefined): string {
  const sections = new Map(Object.entries(settings));
  const keys = new Map(Object.entries(sections.get(section) ?? {}));
  if (value === undefined) keys.delete(key);
  else keys.set(key, value);
  if (keys.size === 0) sections.delete(section);
  else sections.set(section, Object.fromEntries(keys));
  return JSON.stringify(Object.fromEntries(sections));
}
