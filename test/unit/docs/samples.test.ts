import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'vite';
import { describe, expect, test } from 'vitest';
import { readPage, readPages, repository, samplesOf } from './pages.ts';

describe('every TypeScript sample can be parsed', () => {
  const pages = readPages().filter(({ text }) => samplesOf(text, 'ts').length > 0);

  test.each(pages)('in $path', ({ text }) => {
    for (const sample of samplesOf(text, 'ts')) {
      const { errors } = parseSync('sample.ts', sample, { lang: 'ts', sourceType: 'module' });
      expect({ sample, errors }).toEqual({ sample, errors: [] });
    }
  });
});

test('the example of a test with a mocked server is a test that runs', () => {
  const example = readFileSync(join(repository, 'test/unit/browser/msw/example.test.ts'), 'utf8');
  expect(samplesOf(readPage('docs/testing.md').text, 'ts')).toContain(example);
});
