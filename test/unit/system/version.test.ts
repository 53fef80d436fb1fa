import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { VERSION } from '../../../src/system/version.ts';

test('the version is that of the package', () => {
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  expect(text).toContain(`"version": "${VERSION}"`);
});
