import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { createConfig } from '../../../src/core/config/config-store.ts';
import { settingsWithoutEffect, withoutEffect } from '../../../src/core/config/family-settings.ts';
import { DEFAULT_SETTINGS, knownNames, UNSET_BY_DEFAULT } from '../../../src/core/config/known-settings.ts';
import { namesOf, splitName } from '../../../src/core/config/setting-names.ts';
import { commandNames, helpFor } from '../../../src/node/command-line/help.ts';
import { presetNames, presetSettings } from '../../../src/node/configuration/presets.ts';
import serverJson from '../../../src/node/package.json' with { type: 'json' };
import { namesIn, readInterface, readPage, repository, rowsOf } from './pages.ts';

const node = readPage('docs/node.md').text;
const theInterface = readInterface()
  .map(({ text }) => text)
  .join('\n');

test('every dependency has a line that says why, and there is no other line', () => {
  const told = rowsOf(readPage('docs/dependencies.md').text, 'package');
  const names = told.flatMap(([cell]) => namesIn(cell));
  const depended = [...Object.keys(serverJson.dependencies), ...Object.keys(packageJson.devDependencies)];
  expect(names.sort()).toEqual([...new Set(depended)].sort());
  for (const [cell, why] of told) expect(`${cell}: ${why}`).toMatch(/: .{10}/);
});

test('every setting is documented with its default', () => {
  const told = new Map(rowsOf(theInterface, 'setting').map(([cell, value = '']) => [namesIn(cell)[0], value]));
  const defaults = Object.entries(DEFAULT_SETTINGS).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, value]) => [`${section}/${key}`, value] as const),
  );
  const unset = UNSET_BY_DEFAULT.map((name) => [name, ''] as const);
  expect(told).toEqual(new Map([...defaults, ...unset]));
});

test('every setting is documented with the values that its refusals name', () => {
  const told = rowsOf(theInterface, 'setting');
  for (const [cell, , value = ''] of told) {
    const name = namesIn(cell)[0] ?? '';
    const words = wordsOf(name);
    // Some have no such refusal: they are texts, or bound by others.
    if (words !== undefined) expect(`${name}: ${value}`).toBe(`${name}: ${words}`);
    else expect(`${name}: ${value}`).toMatch(/: any text$/);
  }
});

/** What a refusal says that the setting must be. */
function wordsOf(name: string): string | undefined {
  const { section, key } = splitName(name);
  try {
    createConfig({ [section]: { [key]: 'é ?' } });
    return undefined;
  } catch (error) {
    return /it must be (.*)\.$/.exec(String(error))?.[1];
  }
}

test('every alias of a setting is documented', () => {
  const rows = rowsOf(theInterface, 'here').map(([here = '', there = '']) => [namesIn(here)[0] ?? '', namesIn(there)]);
  const told = new Map(rows as [string, string[]][]);
  for (const own of knownNames()) {
    const { section, key } = splitName(own);
    const bySection = (told.get(`${section}/…`) ?? []).map((name) => name.replace('…', key));
    const byKey = told.get(own) ?? [];
    const others = namesOf({ section, key }).map((name) => `${name.section}/${name.key}`);
    const named = [own, ...bySection, ...byKey];
    for (const other of others) {
      // A key of the family has the family's sections as well.
      const inSection = byKey.map((name) => `${other.slice(0, other.indexOf('/'))}/${splitName(name).key}`);
      expect([...named, ...inSection], own).toContain(other);
    }
    for (const name of [...bySection, ...byKey]) expect(others).toContain(name);
  }
});

test('every CouchDB setting without effect is documented with its reason', () => {
  const told = rowsOf(theInterface, 'without effect').map(([names, why]) => [namesIn(names), why]);
  expect(told).toEqual(settingsWithoutEffect().map(({ names, why }) => [names, why]));
});

test('no setting of the service is listed as one without effect', () => {
  for (const name of knownNames()) {
    const { section, key } = splitName(name);
    expect(withoutEffect(section, key), name).toBeUndefined();
  }
});

test('every preset is documented with what it sets', () => {
  let name = '';
  const told = rowsOf(node, 'preset').map(([preset = '', setting = '']) => {
    name = namesIn(preset)[0] ?? name;
    return [name, ...namesIn(setting)];
  });
  const set = presetNames.flatMap((preset) =>
    Object.entries(presetSettings(preset)).flatMap(([section, keys]) =>
      Object.entries(keys).map(([key, value]) => [preset, `${section}/${key}`, value]),
    ),
  );
  expect(told.sort()).toEqual(set.sort());
});

describe('the command line', () => {
  test('has every command documented', () => {
    const told = rowsOf(node, 'command').map(([cell]) => /^settee \[?(\w+)/.exec(namesIn(cell)[0] ?? '')?.[1]);
    expect(told).toEqual([...commandNames]);
  });

  test('has every option of the server documented', () => {
    const told = rowsOf(node, 'option of `serve`').flatMap(([cell]) => namesIn(cell));
    const options = [...helpFor('serve').matchAll(/^ {2}(?:-\w,| {3}) (--[\w-]+)/gm)].map(([, name]) => name);
    expect(told.sort()).toEqual(options.sort());
  });
});

test('the documented sizes of the browser files are about right', () => {
  const told = rowsOf(readPage('docs/browser.md').text, 'file');
  expect(told.length).toBeGreaterThan(5);
  for (const [cell, size = ''] of told) {
    const [name = ''] = namesIn(cell);
    const kilobytes = gzipSync(readFileSync(join(repository, 'dist/browser', name)), { level: 9 }).length / 1024;
    const toldKilobytes = Number(/^(\d+) kB$/.exec(size)?.[1]);
    expect(Math.abs(kilobytes - toldKilobytes), `${name}: ${kilobytes} kB`).toBeLessThan(1 + toldKilobytes / 10);
  }
});
