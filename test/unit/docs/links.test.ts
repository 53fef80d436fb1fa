import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { brokenLinks } from './broken-links.ts';
import { readPages, repository } from './pages.ts';

const pages = readPages();

describe('every link leads to an existing file and heading', () => {
  test.each(pages)('in $path', (page) => {
    expect(brokenLinks(page, pages, (path) => existsSync(join(repository, path)))).toEqual([]);
  });
});

describe('a broken link', () => {
  const a = { path: 'docs/a.md', text: '' };
  const b = { path: 'README.md', text: '## Good' };
  const check = (text: string) =>
    brokenLinks({ ...a, text }, [{ ...a, text }, b], (path) => ['docs/a.md', 'README.md', 'src/x.ts'].includes(path));

  test('is found if it leads to no file, to no heading, or out of the repository', () => {
    const broken = ['c.md', '../README.md#bad', '#bad', '../../elsewhere.md'];
    expect(check(broken.map((link) => `[x](${link})`).join(' '))).toEqual(broken);
  });

  test('is not reported if it leads somewhere', () => {
    expect(check('# Here\n[x](#here) [x](../README.md#good) [x](../src/x.ts#L1) [x](https://a.example/b)')).toEqual([]);
  });
});
