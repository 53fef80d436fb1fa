import { expect, test } from 'vitest';
import { FollowedSettings } from '../../../../src/node/forwarding/followed-settings.ts';

test('listeners are told what differs, when all of it is effective', () => {
  const settings = new FollowedSettings();
  settings.receive({ version: 'a', settings: { log: { level: 'info', file: 'a' }, httpd: { port: '1' } } });
  const changes: unknown[] = [];
  settings.onChange((change) => changes.push([change, settings.get('httpd', 'port'), settings.get('log', 'file')]));
  settings.receive({ version: 'b', settings: { log: { level: 'debug' }, httpd: { port: '1' }, admins: { ana: 'x' } } });
  expect(settings.version).toBe('b');
  expect(changes).toEqual([
    [{ section: 'log', key: 'level', value: 'debug', before: 'info' }, '1', undefined],
    [{ section: 'log', key: 'file', value: undefined, before: 'a' }, '1', undefined],
    [{ section: 'admins', key: 'ana', value: 'x', before: undefined }, '1', undefined],
  ]);
});

test('names of the language are no settings', () => {
  const settings = new FollowedSettings();
  settings.receive({ version: 'a', settings: { log: {} } });
  expect(settings.get('constructor', 'name')).toBeUndefined();
  expect(settings.get('log', 'toString')).toBeUndefined();
  expect(settings.section('__proto__')).toEqual({});
});

test('only the owner changes settings', async () => {
  const settings = new FollowedSettings();
  await expect(settings.set()).rejects.toMatchObject({ code: 'not_owner' });
  await expect(settings.delete()).rejects.toMatchObject({ code: 'not_owner' });
});
