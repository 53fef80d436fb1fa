import { dirname, join, normalize } from 'node:path';
import { anchorsOf, linksOf, type Page } from './pages.ts';

/** What is wrong with the links of a page that lead to this repository; links to elsewhere are passed over. */
export function brokenLinks(page: Page, pages: readonly Page[], exists: (path: string) => boolean): string[] {
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
