import { existsSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { anchorsOf, linksOf, type Page, readPages, repository } from './pages.ts';

/** What is wrong with the links of a page that lead to this repository; links to elsewhere are passed over. */
function brokenLinks(page: Page, pages: readonly Page[], exists: (path: string) => boolean): string[] {
  return linksOf(page.text)
    .filter((link) => !/^[a-z]+:/i.test(link))
    .filter((link) => {
      const [path = '', anchor] = decodeURI(link).split('#');
      const target = path === '' ? page.path : normalize(join(dirname(page.path), path)).replaceAll('\\', '/');
      if (target.startsWith('..') || !exists(target)) return true;
      if (anchor === undefined || !target.endsWith('.md')) return false;
      const text = pages.find((one) => one.path === target)?.text;
      return text === undefined || !anchorsOf(text).has(anchor);
    });
}

const pages = readPages();

describe('every link leads to a file and a heading that are there', () => {
  test.each(pages)('in $path', (page) => {
    expect(brokenLinks(page, pages, (path) => existsSync(join(repository, path)))).toEqual([]);
  });
});

describe('a broken link', () => {
  const a = { path: 'docs/a.md', text: '' };
  const b = { path: 'README.md', text: '## Good' };
  const check = (text: string) =>
    brokenLinks({ ...a, text }, [{ ...a, text }, b], (path) => ['docs/a.md', 'README.md', 'src/x.ts'].includes(path));

  test('leads to no file, to no heading, or out of the repository', () => {
    const broken = ['c.md', '../README.md#bad', '#bad', '../../elsewhere.md'];
    expect(check(broken.map((link) => `[x](${link})`).join(' '))).toEqual(broken);
  });

  test('is none that leads somewhere', () => {
    expect(check('# Here\n[x](#here) [x](../README.md#good) [x](../src/x.ts#L1) [x](https://a.example/b)')).toEqual([]);
  });
});
