import { expect, test } from 'vitest';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { isPresentVersion, SettingsVersion } from '../../../../src/node/forwarding/settings-version.ts';

/** A registry's texts, which can be made to fail. */
class Notes {
  readonly notes = new Map<string, string>();
  fails = false;

  async keepNote(name: string, text: string | undefined): Promise<void> {
    if (this.fails) throw new Error('no room');
    this.notes.set(name, text ?? '');
  }
}

test('settings that were named are the present ones until others are announced', async () => {
  const [registry, config, version] = [new Notes(), createConfig({}), new SettingsVersion()];
  await version.follow(config, registry, silentLog);
  const first = version.current;
  expect(isPresentVersion(first, registry.notes)).toBe(true);
  const seen: boolean[] = [];
  // When listeners are told, the new name is that of what is effective.
  config.onChange(() => seen.push(isPresentVersion(version.current, registry.notes), version.current !== first));
  await config.set('log', 'level', 'debug');
  expect(seen).toEqual([true, true]);
  expect(isPresentVersion(first, registry.notes)).toBe(false);
});

test('a name is stored before its settings are effective', async () => {
  const [registry, config, version] = [new Notes(), createConfig({}), new SettingsVersion()];
  await version.follow(config, registry, silentLog);
  const { current } = version;
  const levels: (string | undefined)[] = [];
  const keepNote = registry.keepNote.bind(registry);
  registry.keepNote = async (...given) => {
    levels.push(config.get('log', 'level'));
    await keepNote(...given);
    levels.push(config.get('log', 'level'));
    expect(version.current).toBe(current);
  };
  await config.set('log', 'level', 'debug');
  expect(levels).toEqual(['info', 'info']);
});

test('a setting that can not be announced is not changed', async () => {
  const [registry, config, version] = [new Notes(), createConfig({}), new SettingsVersion()];
  await version.follow(config, registry, silentLog);
  registry.fails = true;
  await expect(config.set('log', 'level', 'debug')).rejects.toThrow('no room');
  expect(config.get('log', 'level')).toBe('info');
  expect(isPresentVersion(version.current, registry.notes)).toBe(true);
});

test('a setting that can not be stored keeps its value, under the name that was announced', async () => {
  const [registry, config, version] = [new Notes(), createConfig({}), new SettingsVersion()];
  await config.keepIn({ load: async () => ({}), write: () => Promise.reject(new Error('read-only')) });
  await version.follow(config, registry, silentLog);
  await expect(config.set('log', 'level', 'debug')).rejects.toThrow('read-only');
  expect(config.get('log', 'level')).toBe('info');
  expect(isPresentVersion(version.current, registry.notes)).toBe(true);
});

test('without a name no settings are the present ones', async () => {
  const [registry, version] = [new Notes(), new SettingsVersion()];
  registry.fails = true;
  const errors: string[] = [];
  await version.follow(createConfig({}), registry, { ...silentLog, error: (message) => errors.push(message) });
  expect(errors).toEqual(['The settings could not be announced to readers, which therefore forward all requests.']);
  expect(isPresentVersion(version.current, registry.notes)).toBe(false);
});
