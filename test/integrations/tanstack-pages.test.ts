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
  apps = await serveApps(names.map((name) => `tanstack-${name}`));
}, 300_000);

afterAll(() => apps?.close());

async function open(engine: Browser['engine']): Promise<Browser> {
  const browser = await startBrowser(engine);
  onTestFailed(() => console.info(browser.messages.slice(-30).join('\n')));
  onTestFinished(() => browser.close());
  return browser;
}

const items = "[...document.querySelectorAll('li')].map((item) => item.textContent)";

async function becomes(tab: Tab, expression: string, value: unknown): Promise<void> {
  await expect.poll(() => tab.evaluate(expression), { timeout: TIMEOUT_MS }).toEqual(value);
}

const VALIDATION = JSON.stringify({
  validate_doc_update: "function (doc) { if (doc.text === 'bad') throw({ forbidden: 'no bad texts' }); }",
});

describe.each(chosenEngines())('in %s', (engine) => {
  test.each(names)('a live query of %s shows changes at once, and those of another tab', async (name) => {
    const browser = await open(engine);
    const address = `${apps?.url}tanstack-${name}.html`;
    const tab = await browser.open(address);
    await becomes(tab, "document.querySelector('output')?.textContent", 'true');

    // Shown before it is written: the write waits.
    await tab.evaluate('beforeWrite = () => new Promise((resolve) => { window.write = resolve; }), 0');
    await tab.evaluate("collection.insert({ _id: 'a', list: 'home', text: 'milk' }), 0");
    await becomes(tab, items, ['milk new']);
    await tab.evaluate('write()');
    await becomes(tab, items, ['milk 1']);

    const other = await browser.open(address);
    await becomes(other, items, ['milk 1']);
    await other.evaluate("collection.insert({ _id: 'b', list: 'home', text: 'bread' }), 0");
    await becomes(tab, items, ['bread 1', 'milk 1']);
    await other.evaluate("collection.update('a', (draft) => { draft.list = 'work'; }), 0");
    await becomes(tab, items, ['bread 1']);

    // Refused.
    const put = `{ method: 'PUT', headers: {}, body: ${JSON.stringify(VALIDATION)} }`;
    await tab.evaluate(`notes.fetch(notes.address + '/_design/d', ${put}).then(({ status }) => status)`);
    const refused = "collection.insert({ _id: 'c', list: 'home', text: 'bad' }).isPersisted.promise";
    expect(await tab.evaluate(`${refused}.then(() => 'written', ({ status, reason }) => [status, reason])`)).toEqual([
      403,
      'no bad texts',
    ]);
    await becomes(tab, items, ['bread 1']);

    // In conflict with a write that comes before it.
    await tab.evaluate("beforeWrite = () => notes.update('b', (note) => ({ ...note, text: 'toast' })), 0");
    await tab.evaluate("collection.update('b', (draft) => { draft.text = 'rolls'; }), 0");
    await becomes(tab, items, ['toast & rolls 3']);
    await becomes(other, items, ['toast & rolls 3']);
    await other.evaluate("collection.delete('b'), 0");
    await becomes(tab, items, []);
    expect(
      browser.messages.filter(
        (message) => /^(error|uncaught|warning):/i.test(message) && !/favicon|40[0-9]/.test(message),
      ),
    ).toEqual([]);
  });
});
