import { describe, expect, test } from 'vitest';
import { DatabaseError } from '../../../../src/base/errors/database-error.ts';
import type { ConfigChange, SettingName, Settings } from '../../../../src/base/system/contract.ts';
import type { ConfigStorage } from '../../../../src/core/config/config-storage.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';

/** Keeps settings as a file does: what was written is there, also for the next store. */
class FakeStorage implements ConfigStorage {
  readonly kept = new Map<string, string>();
  failure: Error | undefined;

  constructor(kept: Readonly<Record<string, string>> = {}) {
    for (const [name, value] of Object.entries(kept)) this.kept.set(name, value);
  }

  async load(): Promise<Settings> {
    const sections: Record<string, Record<string, string>> = {};
    for (const [name, value] of this.kept) {
      const [section = '', key = ''] = name.split('/');
      sections[section] = { ...sections[section], [key]: value };
    }
    return sections;
  }

  async write(names: readonly SettingName[], value: string | undefined): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    for (const { section, key } of names) this.kept.delete(`${section}/${key}`);
    const [own] = names;
    if (own !== undefined && value !== undefined) this.kept.set(`${own.section}/${own.key}`, value);
  }
}

function codeOf(failing: Promise<unknown>): Promise<unknown> {
  return failing.then(
    () => 'it did not fail',
    (error: unknown) => (error instanceof DatabaseError ? error.code : error),
  );
}

describe('a configuration change', () => {
  test('takes effect at once, returns the previous value, and is stored', async () => {
    const storage = new FakeStorage();
    const config = createConfig();
    await config.keepIn(storage);
    expect(await config.set('uuids', 'max_count', '7')).toBe('1000');
    expect(await config.set('uuids', 'max_count', '8')).toBe('7');
    expect(config.get('uuids', 'max_count')).toBe('8');
    expect(await config.set('app', 'key', 'value')).toBeUndefined();
    expect([...storage.kept]).toEqual([
      ['uuids/max_count', '8'],
      ['app/key', 'value'],
    ]);
    const next = createConfig();
    await next.keepIn(storage);
    expect(next.get('uuids', 'max_count')).toBe('8');
    expect(next.get('app', 'key')).toBe('value');
  });

  test('is reverted by a deletion: the default applies again', async () => {
    const storage = new FakeStorage({ 'uuids/max_count': '7', 'app/key': 'value' });
    const config = createConfig();
    await config.keepIn(storage);
    expect(await config.delete('uuids', 'max_count')).toBe('7');
    expect(config.get('uuids', 'max_count')).toBe('1000');
    expect(await config.delete('app', 'key')).toBe('value');
    expect(config.sections()).not.toHaveProperty('app');
    expect(await config.delete('app', 'key')).toBeUndefined();
    expect(storage.kept.size).toBe(0);
  });

  test("that doesn't persist is not stored, and lasts until the next change", async () => {
    const storage = new FakeStorage({ 'uuids/max_count': '7' });
    const config = createConfig();
    await config.keepIn(storage);
    await config.set('uuids', 'max_count', '8', { persist: false });
    expect(config.get('uuids', 'max_count')).toBe('8');
    expect(storage.kept.get('uuids/max_count')).toBe('7');
    await config.delete('uuids', 'max_count', { persist: false });
    expect(config.get('uuids', 'max_count')).toBe('1000');
    expect(storage.kept.get('uuids/max_count')).toBe('7');
    await config.set('uuids', 'max_count', '9');
    expect(config.get('uuids', 'max_count')).toBe('9');
  });

  test("of a setting given at the start is refused, unless it doesn't persist", async () => {
    const storage = new FakeStorage({ 'uuids/max_count': '7' });
    const config = createConfig({ uuids: { max_count: '5' } });
    await config.keepIn(storage);
    expect(config.get('uuids', 'max_count')).toBe('5');
    expect(await codeOf(config.set('uuids', 'max_count', '6'))).toBe('modification_not_allowed');
    expect(await codeOf(config.delete('uuids', 'max_count'))).toBe('modification_not_allowed');
    expect(config.get('uuids', 'max_count')).toBe('5');
    await config.set('uuids', 'max_count', '6', { persist: false });
    expect(config.get('uuids', 'max_count')).toBe('6');
    expect(storage.kept.get('uuids/max_count')).toBe('7');
  });

  test('to an invalid value changes nothing', async () => {
    const storage = new FakeStorage();
    const config = createConfig();
    await config.keepIn(storage);
    for (const persist of [true, false]) {
      expect(await codeOf(config.set('uuids', 'max_count', 'many', { persist }))).toBe('bad_request');
      expect(await codeOf(config.set('svc_httpd_auth', 'iterations', '0', { persist }))).toBe('bad_request');
    }
    expect(config.get('uuids', 'max_count')).toBe('1000');
    expect(storage.kept.size).toBe(0);
  });

  test.each([
    ['', 'key', 'value'],
    ['app', '', 'value'],
    ['app', 'key', 'two\nlines'],
    ['app', 'key', 'two\r[admins]'],
    ['app', 'a\nkey', 'value'],
    ['a\u0000section', 'key', 'value'],
    ['app', 'key', 'half \ud800'],
    ['app', 'key', 'x'.repeat(65_537)],
    ['app', 'k'.repeat(1_025), 'value'],
  ])('of %j/%j to %j is refused, as no line could store it', async (section, key, value) => {
    const config = createConfig();
    expect(await codeOf(config.set(section, key, value))).toBe('bad_request');
    expect(config.get(section, key)).toBeUndefined();
  });

  test("that can't be stored has no effect", async () => {
    const storage = new FakeStorage();
    const config = createConfig();
    await config.keepIn(storage);
    const changes: ConfigChange[] = [];
    config.onChange((change) => changes.push(change));
    storage.failure = new Error('no space left');
    expect(await codeOf(config.set('app', 'key', 'value'))).toBe(storage.failure);
    expect(config.get('app', 'key')).toBeUndefined();
    storage.failure = undefined;
    expect(await config.set('app', 'key', 'other')).toBeUndefined();
    expect(changes).toEqual([{ section: 'app', key: 'key', value: 'other', before: undefined }]);
  });

  test('is made after the changes requested before it', async () => {
    const config = createConfig();
    await config.keepIn(new FakeStorage());
    const all = ['1', '2', '3', '4'].map((value) => config.set('app', 'key', value));
    expect(await Promise.all(all)).toEqual([undefined, '1', '2', '3']);
  });
});

describe('listeners of configuration changes', () => {
  test('are called when the change takes effect, in order, until they unsubscribe', async () => {
    const config = createConfig();
    const told: string[] = [];
    const stop = config.onChange(({ value }) => told.push(`first ${value} ${config.get('app', 'key')}`));
    config.onChange(({ value, before }) => told.push(`second ${before} ${value}`));
    await config.set('app', 'key', '1');
    stop();
    await config.set('app', 'key', '2');
    await config.delete('app', 'key');
    expect(told).toEqual(['first 1 1', 'second undefined 1', 'second 1 2', 'second 2 undefined']);
  });

  test('are not called if nothing changes', async () => {
    const config = createConfig();
    let told = 0;
    config.onChange(() => told++);
    await config.set('uuids', 'max_count', '1000');
    await config.delete('app', 'key');
    expect(told).toBe(0);
  });

  test('are called for the stored value if it differs from the previous one', async () => {
    const config = createConfig({ app: { given: '1' } });
    const told: string[] = [];
    config.onChange(({ section, key, value }) => told.push(`${section}/${key}=${value}`));
    await config.keepIn(new FakeStorage({ 'app/given': '2', 'app/kept': '3', 'uuids/max_count': '1000' }));
    expect(told).toEqual(['app/kept=3']);
  });

  test("that throw don't keep other listeners from being called, and the change applies", async () => {
    const logged: string[] = [];
    const log = { error: (message: string) => logged.push(message), info: () => {}, debug: () => {} };
    const config = createConfig({}, log);
    const told: string[] = [];
    config.onChange(() => {
      throw new Error('broken');
    });
    config.onChange(({ key }) => told.push(key));
    await config.set('app', 'key', 'value');
    expect(told).toEqual(['key']);
    expect(logged).toEqual([
      'The setting app/key was changed, but the change could not take effect; restart the service.',
    ]);
  });
});

describe('a stored configuration', () => {
  test("that can't be read fails, or is skipped and reported", async () => {
    const storage = new FakeStorage({ 'uuids/max_count': 'many', 'app/key': 'value' });
    expect(await codeOf(createConfig().keepIn(storage))).toBe('bad_request');
    const config = createConfig();
    const told: string[] = [];
    await config.keepIn(storage, ({ reason }) => told.push(reason));
    expect(told).toEqual(['Setting uuids/max_count is "many"; it must be a whole number from 0 to 1000000.']);
    expect(config.get('uuids', 'max_count')).toBe('1000');
    expect(config.get('app', 'key')).toBe('value');
  });
});

test('all settings are listed in order, with the defaults', () => {
  const config = createConfig({ app: { b: '2', a: '1' }, 'app:__proto__own': { toString: 'x' } });
  expect(Object.keys(config.section('app'))).toEqual(['a', 'b']);
  const sections = config.sections();
  expect(Object.keys(sections)).toEqual(Object.keys(sections).sort());
  expect(sections['uuids']).toEqual({ algorithm: 'sequential', max_count: '1000', utc_id_suffix: '' });
  expect(sections['app:__proto__own']).toEqual({ toString: 'x' });
  expect(config.section('absent')).toEqual({});
});
