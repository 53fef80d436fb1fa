import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { KNOWN_SETTINGS } from '../../../../src/admin/settings/known-settings.ts';

describe('the settings that the administration page explains', () => {
  test('are those of the documentation, with the same defaults', () => {
    expect(documented()).toEqual(explained());
  });

  test('each have a sentence', () => {
    const without = KNOWN_SETTINGS.trim()
      .split('\n')
      .filter((line) => !/\| [^|]+\.$/.test(line));
    expect(without).toEqual([]);
  });
});

/** Defaults by name, from the table of settings. */
function documented(): Readonly<Record<string, string>> {
  const text = readFileSync(new URL('../../../../docs/http/server.md', import.meta.url), 'utf8');
  const table = text.slice(text.indexOf('| setting | default |'), text.indexOf('"At once": for what begins'));
  const rows = [...table.matchAll(/^\| `([^`]+)` \|([^|]*)\|/gm)];
  return sorted(rows.map(([, name = '', value = '']) => [name, value.trim()]));
}

function explained(): Readonly<Record<string, string>> {
  const rows = KNOWN_SETTINGS.trim()
    .split('\n')
    .map((line) => line.split('|'));
  return sorted(rows.map(([name = '', value = '']) => [name.trim(), value.trim()]));
}

function sorted(rows: readonly (readonly [string, string])[]): Readonly<Record<string, string>> {
  return Object.fromEntries(rows.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
