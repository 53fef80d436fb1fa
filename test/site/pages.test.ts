/** The pages of the documentation site: where they work, what they load, and for whom they can be read. */
import { posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { useBrowserSession } from '../browser/browser-session.ts';
import { chosenEngines } from '../browser/drivers/start.ts';
import { readInterface, readPage, readPages } from '../unit/docs/pages.ts';
import { builtPages, readBuilt } from './site-server.ts';
import { SiteTab, type Theme } from './site-tab.ts';

/** One page of each kind: the first, with commands, with tables, with pictures, an index. */
const KINDS = ['', 'tutorial.html', 'http/views.html', 'compare.html', 'demo.html', 'contents.html'];

test('every page of the documentation is a page of the site', () => {
  // What tools for agents read is linked to as a file.
  const pages = readPages().filter(({ path }) => !path.startsWith('docs/skills/'));
  // And two pages from the repository's root, and the one for addresses that don't exist.
  expect(builtPages()).toHaveLength(pages.length + 3);
  for (const page of ['index.html', 'contents.html', 'http/index.html', 'source.html', 'recipes/react.html'])
    expect(builtPages()).toContain(page);
});

test('the navigation has the pages in the order of docs/README.md', () => {
  const html = readBuilt('tutorial.html');
  const [, sidebar = ''] = /<aside class="VPSidebar"(.*?)<\/aside>/s.exec(html) ?? [];
  // A group leads to its first page, so that page is there twice.
  const links = [...new Set([...sidebar.matchAll(/href="\.\/([^"]*)"/g)].map(([, link = '']) => link))];
  const isPageOfInterface = (link: string) => link.startsWith('http/');
  expect(links.filter((link) => !isPageOfInterface(link) && link !== 'contents.html')).toEqual(
    contents().filter((link) => !isPageOfInterface(link)),
  );
  expect(links[links.indexOf('http/') - 1]).toBe(contents()[contents().indexOf('http/') - 1]);
  const ofInterface = readInterface().map(({ path }) => addressOf(path.slice('docs/'.length)));
  expect(links.filter(isPageOfInterface)).toEqual(ofInterface);
});

/** Where the links in the lists of docs/README.md lead in the site, in their order. What tools for agents read is no page. */
function contents(): string[] {
  const { text } = readPage('docs/README.md');
  const lists = text.slice(text.indexOf('\n- '), text.indexOf('\n| '));
  const paths = [...lists.matchAll(/\]\(([^)#\s]+\.md)[^)]*\)/g)].map(([, path = '']) => path);
  return paths.filter((path) => !path.startsWith('skills/')).map(addressOf);
}

/** Of a page, by its path from `docs/`. */
function addressOf(path: string): string {
  const elsewhere = new Map([
    ['../src/README.md', 'source.html'],
    ['../CHANGELOG.md', 'changelog.html'],
    ['http/README.md', 'http/'],
  ]);
  return elsewhere.get(path) ?? path.replace(/md$/, 'html');
}

test('no page refers to another origin, except by links that the reader follows', () => {
  for (const page of builtPages()) {
    const loaded = [
      ...readBuilt(page).matchAll(/<(?:script|img|source|iframe|link)\b[^>]*? (?:src|href|srcset)="([^"]+)"/g),
    ];
    expect({
      page,
      found: loaded.map(([, address = '']) => address).filter((address) => /^([a-z]+:)?\/\//i.test(address)),
    }).toEqual({ page, found: [] });
  }
});

test('no picture follows the colours of the system', () => {
  const asIs = builtPages().filter((page) => /<source\b[^>]*prefers-color-scheme/.test(readBuilt(page)));
  expect(asIs).toEqual([]);
});

test('the first text of every page needs two requests, and at most 60 kB', () => {
  const packedSize = (name: string) => gzipSync(readBuilt(name)).length;
  for (const page of builtPages()) {
    const html = readBuilt(page);
    const styles = [...html.matchAll(/<link rel="[^"]*stylesheet" href="([^"]+)"/g)].map(([, href = '']) =>
      posix.join(posix.dirname(page), href),
    );
    // Scripts that the page waits for; modules run when it has been read.
    const scripts = [...html.matchAll(/<script(?![^>]* type="module")[^>]* src=/g)];
    expect({ page, styles: styles.length, scripts: scripts.length }).toEqual({ page, styles: 1, scripts: 0 });
    expect(packedSize(page) + packedSize(styles[0] ?? ''), page).toBeLessThan(60_000);
  }
});

describe.each(chosenEngines())('in %s', (engine) => {
  const session = useBrowserSession(engine);

  async function open(path: string, page: string, theme?: Theme): Promise<SiteTab> {
    const site = await SiteTab.open(session.browser, path, page, theme);
    onTestFinished(() => site.close());
    return site;
  }

  test.each(['/', '/some/path/'])('works below %s: links, search and pages that are opened directly', async (path) => {
    const site = await open(path, 'http/views.html');
    const { tab } = site;
    await tab.evaluate(`document.querySelector('.vp-doc a[href$="functions.html#map-functions"]').click()`);
    await site.until(
      `document.querySelector('h1').textContent.startsWith('Functions') && location.hash === '#map-functions'`,
    );
    await tab.evaluate(`document.querySelector('.VPNavBarTitle a').click()`);
    await site.until(`document.querySelector('h1').textContent.startsWith('Settee')`);
    expect(await tab.evaluate('location.pathname')).toBe(path);
    await tab.evaluate(`document.querySelector('.VPNavBarSearch button').click()`);
    await site.until(`document.querySelector('#localsearch-input')`);
    await tab.evaluate(`{
      const input = document.querySelector('#localsearch-input');
      input.value = 'automatic purge';
      input.dispatchEvent(new Event('input'));
    }`);
    await site.until(`document.querySelector('.VPLocalSearchBox .result')`);
    await tab.evaluate(`document.querySelector('.VPLocalSearchBox .result').click()`);
    await site.until(`location.href === '${site.server.url}http/databases.html#automatic-purge'`);
    await site.until(`document.getElementById('automatic-purge')`);
    expect(await site.origins()).toEqual([new URL(site.server.url).origin]);
    expect(site.server.seen.filter((seen) => !seen.startsWith(path) && seen !== '/favicon.ico')).toEqual([]);
  });

  describe.each(['light', 'dark'] as const)('in its %s theme', (theme) => {
    test.each(KINDS)('the page "%s" can be read by everybody', async (page) => {
      const site = await open('/', page, theme);
      expect(await site.tab.evaluate(`document.documentElement.classList.contains('dark')`)).toBe(theme === 'dark');
      if (page === '') await site.until(`document.querySelector('.runnable').dataset.outcome === 'succeeded'`);
      if (page === 'http/views.html') await site.runAll();
      expect(await site.violations()).toEqual([]);
    });
  });

  test.each(['light', 'dark'] as const)('the search can be used by everybody in the %s theme', async (theme) => {
    const site = await open('/', 'http/views.html', theme);
    const { tab } = site;
    await tab.evaluate(`document.querySelector('.VPNavBarSearch button').click()`);
    await site.until(`document.querySelector('#localsearch-input')`);
    expect(await site.violations()).toEqual([]);
    await tab.evaluate(`{
      const input = document.querySelector('#localsearch-input');
      input.value = 'conflict';
      input.dispatchEvent(new Event('input'));
    }`);
    await site.until(`document.querySelectorAll('.VPLocalSearchBox .result').length > 5`);
    expect(await site.violations()).toEqual([]);
    const active = `document.getElementById(document.querySelector('#localsearch-input').getAttribute('aria-activedescendant'))`;
    const selected = `[...document.querySelectorAll('[role=option]')].map((one) => one.getAttribute('aria-selected')).indexOf('true')`;
    const press = (key: string) =>
      tab.evaluate(`window.dispatchEvent(new KeyboardEvent('keydown', { key: '${key}' }))`);
    await press('ArrowDown');
    await press('ArrowDown');
    await site.until(`${selected} === 2`);
    expect(await tab.evaluate(`[${active}.matches('a[role=option]'), ${active}.ariaSelected]`)).toEqual([true, 'true']);
    await press('Escape');
    await site.until(`document.querySelector('.VPLocalSearchBox') === null`);
  });

  test.each(['light', 'dark'] as const)('pictures follow the switch, from the %s theme', async (theme) => {
    const site = await open('/', 'demo.html', theme);
    const { tab } = site;
    const other = theme === 'dark' ? 'light' : 'dark';
    const shown = `[...document.querySelectorAll('.vp-doc img')].filter((one) => one.checkVisibility()).map((one) => one.src.match(/-(light|dark)/)?.[1])`;
    const loaded = () => site.server.seen.filter((path) => path.endsWith(`-${other}.webp`));
    const first = `document.querySelector('.vp-doc img[src*="-${theme}"]')`;
    await tab.evaluate(`${first}.scrollIntoView()`);
    // In a window that is not seen, browsers load no pictures that wait to be seen.
    await site.until(`document.hidden || (${first}.complete && ${first}.naturalWidth > 0)`);
    const before = (await tab.evaluate(shown)) as string[];
    expect(before.filter((one) => one === theme).length).toBeGreaterThanOrEqual(3);
    expect([before.includes(other), loaded()]).toEqual([false, []]);
    await tab.evaluate(`document.querySelector('.VPSwitchAppearance').click()`);
    await site.until(`document.documentElement.classList.contains('dark') === ${other === 'dark'}`);
    const after = (await tab.evaluate(shown)) as string[];
    expect(after).toEqual(before.map((one) => (one === theme ? other : one)));
  });

  test('no page has to be scrolled sideways on a telephone', async () => {
    const site = await open('/', 'changelog.html');
    const { tab } = site;
    await tab.evaluate(`{
      globalThis.frame = document.createElement('iframe');
      Object.assign(frame.style, { position: 'fixed', inset: '0 auto auto 0', border: '0', width: '390px', height: '844px' });
      document.body.replaceChildren(frame);
      globalThis.widthOf = (page) => new Promise((resolve) => {
        frame.onload = () => resolve(frame.contentDocument.documentElement.scrollWidth);
        frame.src = page;
      });
    }`);
    const widths: [string, unknown][] = [];
    for (const page of builtPages()) widths.push([page, await tab.evaluate(`widthOf('${page}')`)]);
    expect(widths.filter(([, width]) => Number(width) > 390)).toEqual([]);
  });

  test.skipIf(engine !== 'chromium').each(KINDS)('nothing moves while the page "%s" is loaded', async (page) => {
    const site = await open('/', page);
    const moved = `new Promise((resolve) => {
      let sum = 0;
      new PerformanceObserver((list) => {
        for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value;
      }).observe({ type: 'layout-shift', buffered: true });
      requestAnimationFrame(() => setTimeout(() => resolve(sum), 0));
    })`;
    if (page === '') await site.until(`document.querySelector('.runnable').dataset.outcome === 'succeeded'`);
    expect(Number(await site.tab.evaluate(moved))).toBeLessThan(0.01);
    const firstText = `performance.getEntriesByName('first-contentful-paint')[0]?.startTime`;
    console.info(
      `The first text of "${page}" was there after ${Math.round(Number(await site.tab.evaluate(firstText)))} ms`,
    );
  });
});
