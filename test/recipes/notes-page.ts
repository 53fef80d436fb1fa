/** The page of an app with notes: a field for a new one, and a list of all, where each may have a button that deletes it. */
import { expect } from 'vitest';
import type { Browser, Tab } from '../browser/drivers/browser.ts';
import { patient } from '../support/patience.ts';

type Page = Pick<Tab, 'evaluate'>;

/** The button behind a text is not part of it. */
const shown = "[...document.querySelectorAll('li')].map((item) => item.firstChild?.textContent.trim())";

export async function shows(tab: Page, texts: readonly string[]): Promise<void> {
  await expect.poll(() => tab.evaluate(shown), patient).toEqual(texts);
}

export async function isControlled(tab: Page): Promise<void> {
  const controlled = 'Boolean(navigator.serviceWorker?.controller)';
  await expect.poll(() => tab.evaluate(controlled), patient).toBe(true);
}

/** As somebody who types a text and presses Enter. */
export async function add(tab: Page, text: string): Promise<void> {
  const isReady = "document.querySelector('input:enabled') !== null";
  await expect.poll(() => tab.evaluate(isReady), patient).toBe(true);
  await tab.evaluate(`{
    const input = document.querySelector('input');
    input.value = ${JSON.stringify(text)};
    for (const type of ['input', 'change']) input.dispatchEvent(new Event(type, { bubbles: true }));
    input.form?.requestSubmit();
  }`);
}

/** Presses the button beside the first note. */
export async function removeFirst(tab: Page): Promise<void> {
  await tab.evaluate("document.querySelector('li button').click()");
}

/** Writes two notes, the second of them offline, and opens the app once more. The list is empty before. Resolves to the other tab. */
export async function useOffline(browser: Browser, tab: Tab, goOffline: () => Promise<void>): Promise<Tab> {
  const address = String(await tab.evaluate('location.href'));
  await isControlled(tab);
  await add(tab, 'milk');
  await shows(tab, ['milk']);
  await goOffline();
  await tab.reload();
  await shows(tab, ['milk']);
  await add(tab, 'bread');
  await shows(tab, ['milk', 'bread']);
  const other = await browser.open(address);
  await shows(other, ['milk', 'bread']);
  return other;
}
