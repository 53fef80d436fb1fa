import { expect, test } from 'vitest';
import { mayBeName, shownAddress } from '../../../../src/base/system/shown-address.ts';

test('a name is shown as it is, and a URL without its secrets', () => {
  expect(shownAddress('notes')).toBe('notes');
  expect(shownAddress('_users')).toBe('_users');
  expect(shownAddress('app/notes+(1)')).toBe('app/notes+(1)');
  expect(shownAddress('http://ann:secret@example.org:5984/notes?token=secret#secret')).toBe(
    'http://example.org:5984/notes',
  );
  expect(shownAddress('https://example.org')).toBe('https://example.org/');
  expect(shownAddress('socks5://ann:secret@127.0.0.1:1080')).toBe('socks5://127.0.0.1:1080');
});

test('nothing is shown of a text in which a secret may be anywhere', () => {
  for (const text of [
    'ann:secret@example.org/notes',
    'http://ann:sec/ret@example.org/notes',
    'http://ann:sec?ret@example.org/notes',
    'http://ann:sec#ret@example.org/notes',
    'http:///ann:secret@example.org/notes',
    'http://[secret',
    'see cret',
  ]) {
    expect(shownAddress(text)).toBe(undefined);
    expect(mayBeName(text)).toBe(false);
  }
});
