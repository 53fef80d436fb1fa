import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { DEFAULT_SETTINGS, UNSET_BY_DEFAULT } from '../../../src/config/known-settings.ts';
import { commandNames, helpFor } from '../../../src/node/command-line/help.ts';
import serverJson from '../../../src/node/package.json' with { type: 'json' };
import { namesIn, readPage, repository, rowsOf } from './pages.ts';

const node = readPage('docs/node.md').text;

test('every package that is depended on has a line that says why, and no other', () => {
  const told = rowsOf(readPage('docs/dependencies.md').text, 'package');
  const names = told.flatMap(([cell]) => namesIn(cell));
  const depended = [...Object.keys(serverJson.dependencies), ...Object.keys(packageJson.devDependencies)];
  expect(names.sort()).toEqual([...new Set(depended)].sort());
  for (const [cell, why] of told) expect(`${cell}: ${why}`).toMatch(/: .{10}/);
});

test('every setting is told with its default', () => {
  const told = new Map(
    rowsOf(readPage('docs/http.md').text, 'setting').map(([cell, value = '']) => [namesIn(cell)[0], value]),
  );
  const defaults = Object.entries(DEFAULT_SETTINGS).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, value]) => [`${section}/${key}`, value] as const),
  );
  const unset = UNSET_BY_DEFAULT.map((name) => [name, ''] as const);
  expect(told).toEqual(new Map([...defaults, ...unset]));
});

describe('the command line', () => {
  test('has every command told', () => {
    const told = rowsOf(node, 'command').map(([cell]) => /^settee \[?(\w+)/.exec(namesIn(cell)[0] ?? '')?.[1]);
    expect(told).toEqual([...commandNames]);
  });

  test('has every option of the server told', () => {
    const told = rowsOf(node, 'option of `serve`').flatMap(([cell]) => namesIn(cell));
    const options = [...helpFor('serve').matchAll(/^ {2}(?:-\w,| {3}) (--[\w-]+)/gm)].map(([, name]) => name);
    expect(told.sort()).toEqual(options.sort());
  });
});

test('the sizes of files for browsers are about what is told', () => {
  const told = rowsOf(readPage('docs/browser.md').text, 'file');
  expect(told.length).toBeGreaterThan(5);
  for (const [cell, size = ''] of told) {
    const [name = ''] = namesIn(cell);
    const kilobytes = gzipSync(readFileSync(join(repository, 'dist/browser', name)), { level: 9 }).length / 1024;
    const toldKilobytes = Number(/^(\d+) kB$/.exec(size)?.[1]);
    expect(Math.abs(kilobytes - toldKilobytes), `${name}: ${kilobytes} kB`).toBeLessThan(1 + toldKilobytes / 10);
  }
});
