import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { must } from '../../src/base/shared/assert.ts';
import { patient } from '../support/patience.ts';
import { pause } from './browser-session.ts';
import type { Tab } from './drivers/browser.ts';

/** What a user does in the demo's pages, and what they show. */

/** How long to wait for what certainly happens. */
const MAX_WAIT_MS = patient.timeout;

/** The state of the storage, which has no feed, is asked for only while somebody sees it. */
export async function bringToSight(tab: Tab): Promise<void> {
  await tab.evaluate(`{
    Object.defineProperty(document, 'hidden', { value: false });
    document.dispatchEvent(new Event('visibilitychange'));
  }`);
}

export const row = (id: string): string => `.rows a[data-id="${id}"]`;

/** What a script in the page does with a document: replaces some of its text. */
export function put(path: string, before: string, after: string): string {
  return `(async () => {
    const body = await (await fetch('/db/${path}')).text();
    const answer = await fetch('/db/${path}', { method: 'PUT', body: body.replace(${JSON.stringify(before)}, ${JSON.stringify(after)}) });
    if (!answer.ok) throw new Error(await answer.text());
  })()`;
}

export const lastId = '.rows li:last-child .row-id';

/** As another page would. */
export function create(id: string): string {
  return `fetch('/db/countries/${id}', { method: 'PUT', body: '{"name":{"common":"${id}"}}' }).then(({ ok }) => {
    if (!ok) throw new Error('not written');
  })`;
}

export function remove(id: string): string {
  return `(async () => {
    const { _rev } = await (await fetch('/db/countries/${id}')).json();
    await fetch('/db/countries/${id}?rev=' + _rev, { method: 'DELETE' });
  })()`;
}

export async function dropPhoto(tab: Tab, name: string): Promise<void> {
  await tab.evaluate(`(async () => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [12, 8];
    canvas.getContext('2d').fillRect(0, 0, 12, 8);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([blob], ${JSON.stringify(name)}, { type: 'image/png' }));
    document.querySelector('.photo').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
  })()`);
}

/** From now on: where the map pulses, and what the page asks the database. */
export async function recordMapAndRequests(tab: Tab): Promise<void> {
  await tab.evaluate(`{
    globalThis.recorded = { pulses: [], requests: [] };
    const record = ({ addedNodes }) => {
      for (const node of addedNodes) if (node.className === 'pulse') recorded.pulses.push(node.getAttribute('style'));
    };
    new MutationObserver((mutations) => mutations.forEach(record)).observe(document.body, { subtree: true, childList: true });
    // The page asks its worker.
    const post = Worker.prototype.postMessage;
    Worker.prototype.postMessage = function (message, ...ports) {
      // How far an index is, is asked for only where that takes a while.
      for (const [, , url] of message.calls ?? []) {
        if (url && !url.endsWith('/_active_tasks')) recorded.requests.push(url.replace(location.origin, ''));
      }
      return post.call(this, message, ...ports);
    };
  }`);
}

/**
 * What the page asked since `recordMapAndRequests` to read rows again. A feed that was cut, as on a busy machine, is followed anew from
 * where it ended, which reads nothing twice: that is left out.
 */
export async function readAgain(tab: Tab): Promise<readonly string[]> {
  const asked = String(await tab.evaluate('recorded.requests.join("\\n")')).split('\n');
  return asked.filter((url) => url !== '' && url !== '/db/_all_dbs' && !url.includes('/_changes?feed=continuous'));
}

/** Waits until the element has this text. */
export async function shows(tab: Tab, selector: string, expected: string): Promise<void> {
  const deadline = Date.now() + MAX_WAIT_MS;
  for (;;) {
    const shown = await text(tab, selector);
    if (shown === expected) return;
    if (Date.now() > deadline) {
      throw new Error(`the demo never came to this: ${selector} shows ${expected}; it shows ${String(shown)}`);
    }
    await pause(100);
  }
}

export async function text(tab: Tab, selector: string): Promise<unknown> {
  return tab.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? null`);
}

export async function texts(tab: Tab, selector: string): Promise<unknown> {
  return tab.evaluate(
    `[...document.querySelectorAll(${JSON.stringify(selector)})].map(({ textContent }) => textContent)`,
  );
}

export async function value(tab: Tab): Promise<string> {
  return String(await tab.evaluate('document.querySelector("#editor")?.value ?? ""'));
}

/** Waits for the element, and clicks it once it can be used. */
export async function click(tab: Tab, selector: string): Promise<void> {
  await until(tab, `document.querySelector(${JSON.stringify(`${selector}:not(:disabled)`)}) !== null`);
  await tab.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`);
}

export async function type(tab: Tab, selector: string, content: string): Promise<void> {
  await tab.evaluate(`{
    const input = document.querySelector(${JSON.stringify(selector)});
    input.value = ${JSON.stringify(content)};
    input.dispatchEvent(new InputEvent('input', { bubbles: true }));
  }`);
}

export async function edit(tab: Tab, before: string, after: string): Promise<void> {
  await until(tab, `document.querySelector("#editor")?.value.includes(${JSON.stringify(before)}) === true`);
  await type(tab, '#editor', must((await value(tab)).replace(before, after), 'the edited text'));
}

/** In a field that takes what was typed when it is left. */
export async function retype(tab: Tab, field: string, text: string): Promise<void> {
  await tab.evaluate(`(() => {
    const field = document.querySelector(${JSON.stringify(field)});
    field.value = ${JSON.stringify(text)};
    field.dispatchEvent(new Event('change'));
  })()`);
}

/** Within the page, as a link does. */
export async function navigateTo(tab: Tab, hash: string): Promise<void> {
  await tab.evaluate(`location.hash = ${JSON.stringify(hash)}`);
}

/** Waits until the condition is true. What it throws meanwhile, for example because an element is not there yet, means that it is not. */
export async function until(tab: Tab, condition: string): Promise<void> {
  const deadline = Date.now() + MAX_WAIT_MS;
  for (;;) {
    const failure = await tab.evaluate(condition).then(
      (met) => (met === true ? undefined : ''),
      (error: unknown) => `; last error: ${error}`,
    );
    if (failure === undefined) return;
    if (Date.now() > deadline) throw new Error(`the demo never came to this: ${condition}${failure}`);
    await pause(50);
  }
}

/** Waits until the documentation and the administration page are kept for use without a network, which begins when the demo has rested. */
export async function keepsOtherPages(tab: Tab): Promise<void> {
  const worker = readFileSync(join(import.meta.dirname, '../../dist/demo/sw.js'), 'utf8');
  const files = [...new Set(worker.match(/\/(docs|settee-utils\/assets)\/[\w./-]+/g))].filter(
    (file) => !file.endsWith('/'),
  );
  if (files.length < 20) throw new Error(`the service worker names ${files.length} files of other pages`);
  await until(
    tab,
    `Promise.all(${JSON.stringify(files)}.map((file) => caches.match(file))).then((found) => found.every((one) => one !== undefined))`,
  );
}

/**
 * Opens the page of the demo in a frame as wide as a phone. From then on `$` finds elements in it, and `top$` says how far from its top they are.
 * The demo must be served with a policy that allows frames of its own.
 */
export async function openPhone(tab: Tab, hash: string): Promise<void> {
  await tab.evaluate(`{
    const frame = document.createElement('iframe');
    Object.assign(frame.style, { position: 'fixed', inset: '0 auto auto 0', width: '390px', height: '800px' });
    frame.src = '/${hash}';
    document.body.append(frame);
    globalThis.$ = (selector) => frame.contentDocument.querySelector(selector);
    globalThis.$$ = (selector) => [...frame.contentDocument.querySelectorAll(selector)];
    globalThis.top$ = (selector) => Math.round($(selector).getBoundingClientRect().top);
  }`);
}

/** From now on: what the browser would save stays in the page. */
export async function keepExport(tab: Tab): Promise<void> {
  await tab.evaluate(`{
    const { createObjectURL } = URL;
    globalThis.saved = new Promise((resolve) => {
      URL.createObjectURL = (blob) => {
        resolve(blob);
        return createObjectURL.call(URL, blob);
      };
    });
    HTMLAnchorElement.prototype.click = () => {};
  }`);
}

/** As if the user chose the file that was exported before. */
export async function importKept(tab: Tab): Promise<void> {
  await tab.evaluate(`saved.then((blob) => {
    const files = new DataTransfer();
    files.items.add(new File([blob], 'countries.jsonl.gz'));
    const input = document.querySelector('.transfer input');
    input.files = files.files;
    input.dispatchEvent(new Event('change'));
  })`);
}

/** Drops a file beside the frame for it. Returns whether the browser would open it in place of the page. */
export function dropBesideFrame(tab: Tab): Promise<unknown> {
  return tab.evaluate(`document.querySelector('h1').dispatchEvent(new DragEvent('drop', {
    dataTransfer: (() => { const files = new DataTransfer(); files.items.add(new File(['x'], 'x.png')); return files; })(),
    bubbles: true,
    cancelable: true,
  }))`);
}

/** The elements of a document's page that are cut off at the right. */
export function tooWide(tab: Tab): Promise<unknown> {
  return tab.evaluate(`[...document.querySelectorAll('.document, .document > *, .document header > *, .document .marks > *')]
    .filter((element) => element.getBoundingClientRect().right > innerWidth)
    .map(({ tagName, className }) => \`\${tagName} \${className}\`)`);
}

/** Whether the map of the overview is lit at this latitude and longitude. */
export function isLitAt([latitude, longitude]: readonly [number, number]): string {
  return `(() => {
    const canvas = document.querySelector('.overview canvas');
    if (canvas === null) return false;
    const scale = canvas.width / 360;
    const at = [Math.floor((${longitude} + 180.5) * scale), Math.floor((78 - ${latitude} + 0.5) * scale)];
    const colour = getComputedStyle(canvas).getPropertyValue('--dot-lit');
    return '#' + [...canvas.getContext('2d').getImageData(...at, 1, 1).data].slice(0, 3).map((part) => part.toString(16).padStart(2, '0')).join('') === colour;
  })()`;
}

/** From now on, in each frame: how many documents there are as the head of the page, the map and the list say, as far as each says it. */
export async function recordCounts(tab: Tab): Promise<void> {
  await tab.evaluate(`{
    globalThis.counted = [];
    const read = (selector, pattern) => pattern.exec(document.querySelector(selector)?.textContent ?? '')?.[1];
    const record = () => {
      const head = read('.app-bar [href="#/countries"] .count', /^(\\d+)$/);
      const all = [head, read('.overview-count strong', /^(\\d+)$/), read('.range', / of (\\d+)$/)].filter((count) => count && count !== '0');
      if (JSON.stringify(all) !== JSON.stringify(counted.at(-1))) counted.push(all);
      requestAnimationFrame(record);
    };
    record();
  }`);
}
