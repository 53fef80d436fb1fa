/** Every block of code with a button *Run* does in the reader's browser what the page says that it does on a server. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { useBrowserSession } from '../browser/browser-session.ts';
import { chosenEngines } from '../browser/drivers/start.ts';
import { matchesAnswer, readSteps } from '../unit/docs/console-blocks.ts';
import { readInterface, readPage } from '../unit/docs/pages.ts';
import { builtPages, readBuilt } from './site-server.ts';
import { SiteTab } from './site-tab.ts';

const countOf = (page: string) => [...readBuilt(page).matchAll(/<div class="runnable"/g)].length;
const counts = new Map(builtPages().map((page) => [page, countOf(page)]));
const pages = [...counts].filter(([, count]) => count > 0).map(([page]) => page);

/** Pages with an app that runs in a frame. */
const apps = pages.filter((page) => readBuilt(page).includes('&quot;html&quot;:'));

/** Of pages whose commands are run as `fetch`. */
const sources: Readonly<Record<string, string>> = {
  'tutorial.html': 'docs/tutorial.md',
  ...Object.fromEntries(
    readInterface().map(({ path }) => [
      path.replace('docs/', '').replace(/(README)?\.md$/, (_, index) => `${index ? 'index' : ''}.html`),
      path,
    ]),
  ),
};

/** The answers that a page shows in full: a pipe shows a part, other options the headers, and what the command line prints is its own. In a page, the
 * log has no addresses. */
function answersOf(page: string): string[] {
  const source = sources[page];
  if (source === undefined) return [];
  return readSteps(readPage(source).text)
    .filter(({ command }) =>
      /^curl (?!.*(\| | -H '(Origin|X-HTTP-Method-Override)|\/cities\b|\/_log\b|\/_all_dbs$))(?!-(I|si|i) )/.test(
        command,
      ),
    )
    .map(({ answer }) => answer);
}

test('the pages for beginners, and those of the interface, have blocks that can be run', () => {
  expect(pages).toEqual(expect.arrayContaining(['index.html', 'browser.html', 'types.html', 'tutorial.html']));
  const ofInterface = pages.filter((page) => page.startsWith('http/'));
  expect(ofInterface.length).toBeGreaterThanOrEqual(15);
  // A block that can't be turned into code has no button, and would not be missed otherwise.
  expect(counts.get('tutorial.html')).toBe(22);
  const sum = ofInterface.reduce((total, page) => total + (counts.get(page) ?? 0), 0);
  expect(sum).toBeGreaterThanOrEqual(85);
  const recipes = pages.filter((page) => page.startsWith('recipes/')).map((page) => page.slice(8, -5));
  expect(recipes.join(' ')).toBe('capacitor cdn electron next react solid svelte vite-plugin-pwa vue');
});

test('the first app, and those of recipes without a framework, can be run', () => {
  expect(apps).toEqual([
    'first-app.html',
    ...['capacitor', 'cdn', 'electron', 'vite-plugin-pwa'].map((name) => `recipes/${name}.html`),
  ]);
});

/** The first block of the page whose code has this text. */
function blockWith(text: string): string {
  return `[...document.querySelectorAll('.runnable')].find((block) => JSON.parse(block.dataset.code).text.includes(${JSON.stringify(text)}))`;
}

describe.each(chosenEngines())('in %s', (engine) => {
  const session = useBrowserSession(engine);

  async function open(page: string): Promise<SiteTab> {
    const site = await SiteTab.open(session.browser, '/below/here/', page);
    onTestFinished(() => site.close());
    return site;
  }

  test.each(pages)('the blocks of %s succeed, with the answers that the page shows', async (page) => {
    const site = await open(page);
    const blocks = await site.runAll();
    expect(blocks.filter(({ outcome }) => outcome !== 'succeeded')).toEqual([]);
    const bodies = blocks.flatMap((block) => block.bodies);
    const missing = answersOf(page).filter((answer) => !bodies.some((body) => matchesAnswer(body, answer)));
    expect({ missing, bodies: missing.length > 0 ? bodies : [] }).toEqual({ missing: [], bodies: [] });
    expect(await site.origins()).toEqual([new URL(site.server.url).origin]);
    expect(site.server.seen.filter((path) => path.includes('/db/'))).toEqual([]);
  });

  test.each(apps)('the app of %s works below its code, and begins with nothing after Empty', async (page) => {
    const site = await open(page);
    const { tab } = site;
    await site.runAll();
    const app = `document.querySelector('.runnable-app').contentDocument`;
    const items = `[...${app}.querySelectorAll('li')].map(({ firstChild }) => firstChild.textContent).join()`;
    const add = (text: string) =>
      tab.evaluate(`{
        const input = ${app}.querySelector('input');
        input.value = '${text}';
        input.dispatchEvent(new Event('change'));
      }`);
    expect(await tab.evaluate(`[${app}.querySelector('input').disabled, ${items}]`)).toEqual([false, '']);
    await add('one');
    await site.until(`${items} === 'one'`);
    await add('two');
    await site.until(`${items} === 'one,two'`);
    // The first app only adds notes.
    if (page !== 'first-app.html') {
      await tab.evaluate(`${app}.querySelector('button').click()`);
      await site.until(`${items} === 'two'`);
    }
    // Run again, it is a new app with the same notes. The one before would show a new note a second time.
    await tab.evaluate(`{
      globalThis.before = ${app};
      document.querySelector('.runnable:has(.runnable-app) .runnable-run').click();
    }`);
    const isNew = `${app} !== before && ${app}.querySelector('input')?.disabled === false`;
    await site.until(`${isNew} && ${items}.endsWith('two')`);
    await add('three');
    await site.until(`${items}.endsWith('two,three')`);
    await tab.evaluate(`document.querySelector('.runnable:has(.runnable-app) .runnable-empty').click()`);
    await site.until(`document.querySelector('.runnable-app') === null`);
    await site.runAll();
    expect(await tab.evaluate(`[${items}, document.querySelectorAll('.runnable-error').length]`)).toEqual(['', 0]);
  });

  test('a block with live changes goes on while others run', async () => {
    const site = await open('types.html');
    await site.runAll();
    const logs = `[...${blockWith('live: true')}.querySelectorAll('.runnable-log')].map(({ textContent }) => textContent).join()`;
    expect(await site.tab.evaluate(logs)).toBe('view The view,first is gone');
    await site.tab.evaluate(`document.querySelector('.runnable-run').click()`);
    // The block writes the document twice, and the feed may have both as one change.
    await site.until(`${logs}.startsWith('view The view,first is gone,first Hello')`);
  });

  test('the first page has run its block by itself', async () => {
    const site = await open('');
    await site.until(`document.querySelector('.runnable')?.dataset.outcome === 'succeeded'`);
    const answer = String(await site.tab.evaluate(`document.querySelector('.runnable-answer').innerText`));
    expect(answer).toContain('PUT /db/notes/first 201');
    expect(answer).toContain('{ "_id": "first", "_rev": "1-');
    expect(answer).toContain('"text": "Hello" }');
  });

  test('a block runs those above it first, once, and the next goes on from there', async () => {
    const site = await open('types.html');
    const click = (text: string) => `${blockWith(text)}.querySelector('.runnable-run').click()`;
    const outcome = (text: string) => `String(${blockWith(text)}.dataset.outcome)`;
    await site.tab.evaluate(click('_deleted: true'));
    await site.until(`${outcome('_deleted: true')} === 'succeeded'`);
    const others = ['Somebody else', 'no_usable_index'].map(outcome);
    expect(await site.tab.evaluate(`[${others}]`)).toEqual(['succeeded', 'undefined']);
    await site.tab.evaluate(click('doc_count'));
    await site.until(`${outcome('doc_count')} === 'succeeded'`);
    // One of the two documents was deleted by a block that has run once.
    const last = `${blockWith('doc_count')}.querySelector('.runnable-log').textContent`;
    expect(await site.tab.evaluate(last)).toBe('1');
  });

  test('Empty deletes what a page has stored, and its answers', async () => {
    const site = await open('tutorial.html');
    await site.runAll();
    const stored = `indexedDB.databases().then((all) => all.some(({ name }) => name.includes('/db/docs-tutorial-md/')))`;
    expect(await site.tab.evaluate(stored)).toBe(true);
    await site.tab.evaluate(`document.querySelector('.runnable-empty').click()`);
    await site.until(`document.querySelectorAll('.runnable[data-outcome]').length === 0`);
    await site.until(`document.querySelector('.runnable-state').textContent === ''`);
    expect(await site.tab.evaluate(stored)).toBe(false);
    expect((await site.runAll()).filter((block) => block.outcome !== 'succeeded')).toEqual([]);
  });

  test('a block that fails says why, and the page goes on', async () => {
    const site = await open('types.html');
    const code = {
      text: "throw Object.assign(new Error('x'), { name: 'SetteeError', status: 409, error: 'conflict', reason: 'Old.' })",
      names: [],
    };
    const set = `document.querySelector('.runnable').dataset.code = ${JSON.stringify(JSON.stringify(code))}`;
    await site.tab.evaluate(`{ ${set}; document.querySelector('.runnable-run').click(); }`);
    await site.until(`document.querySelector('.runnable').dataset.outcome === 'failed'`);
    const shown = `document.querySelector('.runnable-error').textContent`;
    expect(await site.tab.evaluate(shown)).toBe('SetteeError: 409 conflict: Old.');
    await site.tab.evaluate(`document.querySelector('.VPNavBarMenuLink[href$="compare.html"]').click()`);
    await site.until(`document.querySelector('h1').textContent.startsWith('When to take something else')`);
  });

  test('commands can be shown as fetch, in the whole page', async () => {
    const site = await open('tutorial.html');
    await site.tab.evaluate(`document.querySelector('[data-tab="1"]').click()`);
    const texts = `[...document.querySelectorAll('.runnable-panel')].filter((one) => one.checkVisibility()).map((one) => one.innerText)`;
    const shown = (await site.tab.evaluate(texts)) as string[];
    expect(shown.join('\n')).toContain("await fetch('/db/atlas', { method: 'PUT' });");
    expect(shown.join('\n')).not.toContain('$ curl');
  });
});
