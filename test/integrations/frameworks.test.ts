import { afterAll, beforeAll, describe, expect, onTestFailed, onTestFinished, test } from 'vitest';
import type { Browser, Tab } from '../browser/drivers/browser.ts';
import { prepareBrowser } from '../browser/drivers/find-browser.ts';
import { chosenEngines, startBrowser } from '../browser/drivers/start.ts';
import { serveApps } from './built-apps.ts';

/** Until a page shows what it is to show: a first visit loads all the files, on a machine that may be busy. */
const TIMEOUT_MS = 60_000;
const names = ['react', 'vue', 'svelte', 'solid'];

let apps: Awaited<ReturnType<typeof serveApps>> | undefined;

beforeAll(async () => {
  for (const engine of chosenEngines()) prepareBrowser(engine);
  apps = await serveApps(names);
}, 300_000);

afterAll(() => apps?.close());

async function open(engine: Browser['engine']): Promise<Browser> {
  const browser = await startBrowser(engine);
  onTestFailed(() => console.info(browser.messages.slice(-30).join('\n')));
  onTestFinished(() => browser.close());
  return browser;
}

const textOf = (selector: string) => `document.querySelector('${selector}')?.textContent`;
const items = "[...document.querySelectorAll('li')].map((item) => item.textContent)";

async function becomes(tab: Tab, expression: string, value: unknown): Promise<void> {
  await expect.poll(() => tab.evaluate(expression), { timeout: TIMEOUT_MS }).toEqual(value);
}

describe.each(chosenEngines())('in %s', (engine) => {
  test.each(names)('%s shows what is written, in this tab and another one', async (name) => {
    const browser = await open(engine);
    const address = `${apps?.url}${name}.html`;
    const tab = await browser.open(address);
    await becomes(tab, textOf('output'), 'ready');
    await becomes(tab, textOf('i'), 'no sync');
    await tab.evaluate("notes.put({ _id: 'a', list: 'home', text: 'milk' })");
    await becomes(tab, items, ['milk']);
    await becomes(tab, textOf('p'), 'milk');

    const other = await browser.open(address);
    await becomes(other, items, ['milk']);
    await other.evaluate("notes.put({ _id: 'b', list: 'home', text: 'bread' })");
    await becomes(tab, items, ['milk', 'bread']);
    await other.evaluate("notes.update('a', (note) => ({ ...note, text: 'oat milk' }))");
    await becomes(tab, items, ['oat milk', 'bread']);
    await becomes(tab, textOf('p'), 'oat milk');

    await other.evaluate("notes.put({ _id: 'c', list: 'work', text: 'write' })");
    await tab.evaluate("document.getElementById('work').click()");
    await becomes(tab, items, ['write']);
    await becomes(tab, textOf('p'), 'write');
    await tab.evaluate("document.getElementById('home').click()");
    await becomes(tab, items, ['oat milk', 'bread']);
    await other.evaluate("notes.update('a', () => ({ _deleted: true }))");
    await becomes(tab, items, ['bread']);
    if (name === 'svelte') await becomes(tab, textOf('b'), '2');
    expect(
      browser.messages.filter((message) => /^(error|uncaught|warning):/i.test(message) && !/favicon|404/.test(message)),
    ).toEqual([]);
  });
});
