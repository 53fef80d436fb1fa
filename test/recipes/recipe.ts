import { expect, inject, onTestFailed, onTestFinished } from 'vitest';
import type { Browser, Tab } from '../browser/drivers/browser.ts';
import { chosenEngines, startBrowser } from '../browser/drivers/start.ts';
import { add, isControlled, removeFirst, shows, useOffline } from './notes-page.ts';
import { readInstructions } from './page-files.ts';
import { WalkThrough } from './walk-through.ts';

/** Somebody who has done all that `docs/recipes/<name>.md` says but the last command. What is begun ends with the test. */
export async function followRecipe(
  name: string,
  { node = 20 }: { readonly node?: number } = {},
): Promise<{ reader: WalkThrough; lastCommand: string }> {
  const { commands, files } = readInstructions(`docs/recipes/${name}.md`);
  const reader = new WalkThrough({ tarball: inject('setteeTarball') });
  onTestFinished(() => reader.remove());
  await reader.useNode(node);
  for (const command of commands.slice(0, -1)) await reader.run(command);
  reader.write(files);
  return { reader, lastCommand: commands.at(-1) ?? '' };
}

/** Runs a command whose last part serves the app. Resolves to the address. */
export async function buildAndServe(reader: WalkThrough, command: string, portOption = '--port 0'): Promise<string> {
  const parts = command.split(' && ');
  if (parts.length > 1) await reader.run(parts.slice(0, -1).join(' && '));
  return reader.serve(`${parts.at(-1)} ${portOption}`);
}

export async function openBrowser(): Promise<Browser> {
  const [engine = 'chromium'] = chosenEngines();
  const browser = await startBrowser(engine);
  onTestFailed(() => console.info(browser.messages.slice(-30).join('\n')));
  onTestFinished(() => browser.close());
  return browser;
}

/** What somebody does before there is a build: the app is served from its sources. */
export async function tryInDevelopment(reader: WalkThrough, command: string): Promise<void> {
  const address = await reader.serve(`${command} --port 0`);
  const browser = await openBrowser();
  const tab = await browser.open(address);
  await add(tab, 'milk');
  await shows(tab, ['milk']);
  await isControlled(tab);
  noErrors(browser);
  await reader.stop();
}

/** Opens the app, and uses it as `useNotes` does. */
export async function openAndUse(address: string, goOffline: () => Promise<void>): Promise<void> {
  const browser = await openBrowser();
  await useNotes(browser, await browser.open(address), goOffline);
}

/** Writes notes and deletes one, in two tabs, on line and off. The list is empty before. */
export async function useNotes(browser: Browser, tab: Tab, goOffline: () => Promise<void>): Promise<void> {
  const address = String(await tab.evaluate('location.href'));
  const other = await useOffline(browser, tab, goOffline);
  await removeFirst(other);
  await shows(tab, ['bread']);
  await add(other, 'salt');
  await shows(tab, ['bread', 'salt']);
  // The tab that has had the storage goes, and whoever follows the changes goes on.
  await tab.close();
  const third = await browser.open(address);
  await add(third, 'jam');
  await shows(other, ['bread', 'salt', 'jam']);
  noErrors(browser);
}

/** The same where there is no service worker, so that a page is loaded from its files but asks them for nothing more. */
export async function openAndUseWithoutServiceWorker(address: string, stop: () => Promise<void>): Promise<void> {
  const browser = await openBrowser();
  const tab = await browser.open(address);
  await add(tab, 'milk');
  await shows(tab, ['milk']);
  await tab.reload();
  await shows(tab, ['milk']);
  const other = await browser.open(address);
  await shows(other, ['milk']);
  await stop();
  await add(other, 'bread');
  await shows(tab, ['milk', 'bread']);
  await removeFirst(tab);
  await shows(other, ['bread']);
  expect(await tab.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)')).toBe(0);
  noErrors(browser);
}

/** But that there is no icon, which browsers ask for. */
export function noErrors({ messages }: Browser): void {
  const errors = messages.filter((message) => /^(error|uncaught):/i.test(message));
  expect(errors.filter((message) => !/Failed to load resource|favicon\.ico/.test(message))).toEqual([]);
}
