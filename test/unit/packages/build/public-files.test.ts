import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../../../..');
const read = (path: string) => readFileSync(join(repository, path), 'utf8');

test.each(readdirSync(join(repository, 'public')))('%s is in the built demo unchanged, and precached', (name) => {
  expect(read(`dist/demo/${name}`)).toBe(read(`public/${name}`));
  expect(read('dist/demo/sw.js')).toContain(`"/${name}"`);
});

test('the page refers to its icon and its manifest', () => {
  const page = read('dist/demo/index.html');
  expect(page).toMatch(/<link rel="icon" href="\/favicon\.svg"/);
  expect(page).toMatch(/<link rel="manifest" href="\/manifest\.webmanifest"/);
});

test('the demo keeps the administration page of its database for when there is no network', () => {
  expect(readdirSync(join(repository, 'dist/demo/settee-utils'))).toEqual(['assets', 'settee-sw-utils.js']);
  expect(read('dist/demo/sw.js')).toContain('settee-utils/assets');
});
