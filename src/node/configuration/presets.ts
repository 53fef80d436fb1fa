/** Presets: settings that an app needs, under one name (docs/node.md#presets). They replace defaults: a configuration file and options still win. */
import type { Config, Settings } from '../../base/system/contract.ts';

interface Preset {
  readonly settings: Settings;
  /** What is left to do, given the settings in effect; undefined for nothing. */
  readonly advice?: (config: Config) => string | undefined;
}

const ORIGINS_OF_OBSIDIAN = 'app://obsidian.md,capacitor://localhost,http://localhost';

const PRESETS = {
  'obsidian-livesync': {
    settings: {
      svc_httpd_auth: { require_valid_user: 'true' },
      httpd: { enable_cors: 'true', 'WWW-Authenticate': 'Basic realm="Settee"' },
      cors: { origins: ORIGINS_OF_OBSIDIAN, credentials: 'true' },
    },
  },
  pouchdb: {
    settings: { httpd: { enable_cors: 'true' }, cors: { credentials: 'true' } },
    advice: (config) =>
      config.get('cors', 'origins') === undefined
        ? "Name the origins of your app's pages: --set cors/origins=https://app.example.org"
        : undefined,
  },
} as const satisfies Readonly<Record<string, Preset>>;

export type PresetName = keyof typeof PRESETS;

export const presetNames = Object.keys(PRESETS) as readonly PresetName[];

export function presetSettings(name: PresetName | undefined): Settings {
  return name === undefined ? {} : PRESETS[name].settings;
}

/** Returns what the preset set, in lines for people: nothing without one. */
export function describePreset(name: PresetName | undefined, config: Config): string[] {
  if (name === undefined) return [];
  const preset: Preset = PRESETS[name];
  const lines = Object.entries(preset.settings).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, value]) => {
      const present = config.get(section, key);
      return present === value
        ? `  ${section}/${key} = ${value}`
        : `  ${section}/${key} = ${present}, as you set it (the preset has ${value})`;
    }),
  );
  const advice = preset.advice?.(config);
  return [`The preset ${name} sets:`, ...lines, ...(advice === undefined ? [] : [advice])];
}
