import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { click, shows, text, type, until } from './demo-page.ts';
import type { Tab } from './drivers/browser.ts';

/** What a user does on the demo's first page, the field notes of two devices, and what it shows. */

export type DeviceName = 'phone' | 'laptop';
export const bothDevices: readonly DeviceName[] = ['phone', 'laptop'];

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export function of(device: DeviceName, selector: string): string {
  return `[data-device=${device}] ${selector}`;
}

/** Shows the device, where the window is too narrow for both. */
export async function bringUp(tab: Tab, device: DeviceName): Promise<void> {
  await tab.evaluate(`document.querySelector('[data-tab=${device}]').click()`);
}

/** Waits until the device has so many notes in its list. */
export function hasNotes(tab: Tab, device: DeviceName, count: number): Promise<void> {
  return until(tab, `document.querySelectorAll('${of(device, '.notes-rows li')}').length === ${count}`);
}

/** Waits until the device says this about its connection. */
export function isLinked(tab: Tab, device: DeviceName, state: string): Promise<void> {
  return shows(tab, of(device, '.device-state'), state);
}

/** Waits until a sentence was told, the last one or one before. */
export function isTold(tab: Tab, pattern: RegExp): Promise<void> {
  return until(
    tab,
    `[...document.querySelectorAll('.happened, .happened-before li span')].some(({ textContent }) => ${pattern}.test(textContent))`,
  );
}

/** Writes a note and stores it. */
export async function write(tab: Tab, device: DeviceName, note: string): Promise<void> {
  await type(tab, `#${device}-text`, note);
  await click(tab, `[data-action=${device}-submit]`);
}

export function titles(tab: Tab, device: DeviceName): Promise<unknown> {
  return tab.evaluate(
    `[...document.querySelectorAll('${of(device, '.note-row-title')}')].map(({ textContent }) => textContent)`,
  );
}

/** Waits until the device's list begins with this title. */
export function beginsWith(tab: Tab, device: DeviceName, title: string): Promise<void> {
  return until(
    tab,
    `document.querySelector('${of(device, '.note-row-title')}')?.textContent === ${JSON.stringify(title)}`,
  );
}

/** Clicks on the map, at shares of its width and height. */
export async function clickMap(tab: Tab, device: DeviceName, x: number, y: number): Promise<void> {
  await tab.evaluate(`{
    const map = document.querySelector('${of(device, '.note-map')}');
    const { left, top, width, height } = map.getBoundingClientRect();
    map.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX: left + width * ${x}, clientY: top + height * ${y} }));
  }`);
}

/** Chooses a picture of this size as the photo of the note that is being written, and waits until it is ready. */
export async function choosePhoto(tab: Tab, device: DeviceName, width: number, height: number): Promise<void> {
  await tab.evaluate(`(async () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [${width}, ${height}];
    const context = canvas.getContext('2d');
    context.fillStyle = '#2c8f84';
    context.fillRect(0, 0, ${width}, ${height});
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
    const files = new DataTransfer();
    files.items.add(new File([blob], 'seen.png', { type: 'image/png' }));
    const input = document.querySelector('${of(device, '.note-form input[type=file]')}');
    input.files = files.files;
    input.dispatchEvent(new Event('change'));
  })()`);
  await until(tab, `document.querySelector('${of(device, '.form-preview canvas')}')?.width === 96`);
}

/** The versions that a conflict shows, as its table has them. */
export async function versionsOf(tab: Tab, device: DeviceName): Promise<string> {
  await until(tab, `document.querySelector('${of(device, '.torn table')}') !== null`);
  return String(await text(tab, of(device, '.torn tbody')));
}

/** What axe finds: the rules that are broken, each with the elements. */
export async function violations(tab: Tab): Promise<unknown> {
  await tab.evaluate(`void (() => { ${axe} })()`);
  return tab.evaluate(
    `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, any }) => html.slice(0, 150) + ' ' + (any[0]?.message ?? '')).join(' | ')))`,
  );
}
