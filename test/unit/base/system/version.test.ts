import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { VERSION } from '../../../../src/base/system/version.ts';

test.each(['package.json', 'src/node/package.json'])('the version is that in %s', (path) => {
  const text = readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
  expect(text).toContain(`"version": "${VERSION}"`);
});
