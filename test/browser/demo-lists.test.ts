import { describe, expect, test } from 'vitest';
import { NodeHost } from '../support/conformance/node-host.ts';
import { patient } from '../support/patience.ts';
import { click, navigateTo, shows, text, texts, type, until } from './demo-page.ts';
import { type Demo, useDemo } from './demo-session.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** The list of the page Sync, and the lists of countries and cities, as somebody uses them who sees them for the first time. */
describe.each(chosenEngines())('a newcomer to the lists of the demo in %s', (engine) => {
  const demo = useDemo(engine);
  typing(demo);
  accidents(demo);
  withoutDatabase(demo);
  names(demo);
  theMap(demo);
});

const here = (rest: string) => `[data-side=here] ${rest}`;
const FIRST = here('.packing li:first-child input[type=text]');

async function openSync(demo: Demo): Promise<{ readonly tab: Tab; readonly address: string }> {
  const database = await NodeHost.start();
  await demo.serve(database);
  const tab = await demo.open('#/sync');
  await shows(tab, '.line-state', 'In sync');
  for (const side of ['here', 'there']) {
    await until(tab, `document.querySelectorAll('[data-side=${side}] .packing li').length === 4`);
  }
  return { tab, address: new URL('/settee-demo/', database.baseUrl).href };
}

/** As somebody else does, at the server. */
async function putAtServer(address: string, id: string, text: string): Promise<void> {
  const current = await fetch(address + id);
  const { _rev } = current.ok ? ((await current.json()) as { readonly _rev: string }) : {};
  const body = JSON.stringify({ ...(_rev !== undefined && { _rev }), text, packed: false });
  expect((await fetch(address + id, { method: 'PUT', body })).status).toBe(201);
}

async function textAtServer(address: string, id: string): Promise<unknown> {
  const { text } = (await (await fetch(address + id)).json()) as { readonly text?: unknown };
  return text;
}

/** Begins to type in the first item, which has the focus from then on. */
async function beginToType(tab: Tab, words: string): Promise<void> {
  await tab.evaluate(`{
    const field = document.querySelector('${FIRST}');
    field.focus();
    field.value = ${JSON.stringify(words)};
    field.dispatchEvent(new InputEvent('input', { bubbles: true }));
  }`);
}

/** As the key Enter does. */
async function endTyping(tab: Tab): Promise<void> {
  await tab.evaluate(`document.querySelector('${FIRST}').dispatchEvent(new Event('change'))`);
}

function typing(demo: Demo): void {
  test('goes on typing in an item while others arrive', async () => {
    const { tab, address } = await openSync(demo);
    await beginToType(tab, 'Tent, pegs and a ham');
    await putAtServer(address, 'item-0', 'A hammer');
    await putAtServer(address, 'item-9', 'Matches');
    await until(tab, `document.querySelectorAll('${here('.packing li')}').length === 6`);
    const field = `document.querySelector('${here('[data-id=item-1] input[type=text]')}')`;
    expect(await tab.evaluate(`[document.activeElement === ${field}, ${field}.value]`)).toEqual([
      true,
      'Tent, pegs and a ham',
    ]);
    await tab.evaluate(`${field}.dispatchEvent(new Event('change'))`);
    await expect.poll(() => textAtServer(address, 'item-1'), patient).toBe('Tent, pegs and a ham');
  });

  test('decides what becomes of the words if somebody else changed the item meanwhile', async () => {
    const { tab, address } = await openSync(demo);
    await beginToType(tab, 'Two tents');
    await putAtServer(address, 'item-1', 'No tent');
    await shows(tab, '.line-state', 'In sync');
    await until(
      tab,
      `document.querySelector('[data-side=there] [data-id=item-1] input[type=text]').value === 'No tent'`,
    );
    // The change has arrived, too, before it is stored.
    await until(
      tab,
      `fetch('/db/packing/item-1').then((answer) => answer.json()).then(({ text }) => text === 'No tent')`,
    );
    expect(await tab.evaluate(`document.querySelector('${FIRST}').value`)).toBe('Two tents');
    await endTyping(tab);
    await shows(tab, here('.refused p'), 'It was changed elsewhere to “No tent”, while you wrote “Two tents”.');
    await click(tab, here('[data-action=store-mine]'));
    await expect.poll(() => textAtServer(address, 'item-1'), patient).toBe('Two tents');
    await until(tab, `document.querySelector('${FIRST}')?.value === 'Two tents'`);
  });

  test('keeps the words of an item that somebody else removed meanwhile', async () => {
    const { tab, address } = await openSync(demo);
    await beginToType(tab, 'Two tents');
    const { _rev } = (await (await fetch(`${address}item-1`)).json()) as { readonly _rev: string };
    await fetch(`${address}item-1?rev=${_rev}`, { method: 'DELETE' });
    await until(tab, `document.querySelectorAll('[data-side=there] .packing li').length === 3`);
    await until(
      tab,
      `fetch('/db/packing/_all_docs').then((answer) => answer.json()).then(({ rows }) => rows.length === 3)`,
    );
    await tab.evaluate(
      `document.querySelector('${here('[data-id=item-1] input[type=text]')}').dispatchEvent(new Event('change'))`,
    );
    await shows(tab, here('.refused p'), 'It was removed elsewhere, while you wrote “Two tents”.');
    await click(tab, here('[data-action=keep-theirs]'));
    await until(tab, `document.querySelectorAll('${here('.packing li')}').length === 3`);
  });
}

function accidents(demo: Demo): void {
  test('removes one item by a double click, and brings it back', async () => {
    const { tab, address } = await openSync(demo);
    // Both presses are at the same place, as those of a double click are.
    await tab.evaluate(`{
      const { left, top, width, height } = document.querySelector('${here('[data-id=item-2] .remove')}').getBoundingClientRect();
      globalThis.press = () => document.elementFromPoint(left + width / 2, top + height / 2)?.click?.();
      press();
    }`);
    await shows(tab, here('.is-removed p'), 'Removed: Coffee, and the small pot');
    await tab.evaluate('press()');
    const atServer = async () => {
      const { rows } = (await (await fetch(`${address}_all_docs`)).json()) as { rows: readonly { id: string }[] };
      return rows.map(({ id }) => id);
    };
    await expect.poll(atServer, patient).toEqual(['item-1', 'item-3', 'item-4']);
    await shows(tab, '.line-state', 'In sync');
    expect(await texts(tab, here('.is-removed p'))).toEqual(['Removed: Coffee, and the small pot']);
    expect(await tab.evaluate(`document.activeElement.matches('${here('.is-removed p')}')`)).toBe(true);
    await click(tab, here('[data-action=undo-remove]'));
    await expect.poll(atServer, patient).toEqual(['item-1', 'item-2', 'item-3', 'item-4']);
    expect(await textAtServer(address, 'item-2')).toBe('Coffee, and the small pot');
    await until(tab, `document.querySelectorAll('${here('.packing li:not(.is-removed)')}').length === 4`);
  });
}

function withoutDatabase(demo: Demo): void {
  test('begins a list without a server', async () => {
    await demo.serve();
    const tab = await demo.open('#/sync');
    await shows(
      tab,
      '.not-begun [role=status]',
      'This page is served as files, without a database server beside it. With npm start it has one. As soon as the server can be reached, this page connects the two lists by itself.',
    );
    expect(await tab.evaluate(`document.querySelector('[data-action=tear]').disabled`)).toBe(true);
    await click(tab, '[data-action=begin-here]');
    await until(tab, `document.querySelectorAll('${here('.packing li')}').length === 4`);
    await until(tab, `document.querySelector('[data-action=begin-here]').hidden`);
  });

  test('makes the database as the admin of the server', async () => {
    const database = await NodeHost.start({ admins: { root: 'secret' } });
    await demo.serve(database);
    const tab = await demo.open('#/sync');
    await until(tab, `document.querySelector('.admin-form') !== null`);
    expect(await text(tab, '.admin-form code')).toBe(
      `curl -u ADMIN -X PUT ${new URL('/settee-demo', database.baseUrl).href}`,
    );
    const fill = async (password: string) => {
      await type(tab, '.admin-form [name=admin]', 'root');
      await type(tab, '.admin-form [name=password]', password);
      await click(tab, '[data-action=make-there]');
    };
    await fill('wrong');
    await shows(tab, '.start-panel > [role=alert]', 'Name or password is wrong.');
    await fill('secret');
    await shows(tab, '.line-state', 'In sync');
    await until(tab, `!document.querySelector('.not-begun').checkVisibility()`);
    await until(tab, `document.querySelectorAll('[data-side=there] .packing li').length === 4`);
    // No password is among the requests that the page shows.
    expect(String(await text(tab, '.request-bar'))).not.toContain('_session');
  });
}

function names(demo: Demo): void {
  test('finds a country by any of its names, and sees what others write among what was found', async () => {
    const tab = await demo.openWithCountries();
    for (const [query, ids] of [
      ['Deutschland', ['germany']],
      ['россия', ['russia']],
      ['日本', ['japan']],
      ['lanka', ['sri-lanka']],
      ['new', ['new-caledonia', 'new-zealand', 'papua-new-guinea']],
      ['zealand new', ['new-zealand']],
    ] as const) {
      await type(tab, '#search', query);
      await shows(tab, '.range', `1–${ids.length} of ${ids.length}`);
      await expect.poll(() => texts(tab, '.row-id')).toEqual(ids);
    }
    expect(await tab.evaluate(`document.querySelector('#search').placeholder`)).toBe(
      'Find by name in any language, such as Deutschland',
    );
    await tab.evaluate(
      `fetch('/db/countries/atlantis', { method: 'PUT', body: '{"name":{"common":"Zealand, New"}}' }).then(({ status }) => status)`,
    );
    await shows(tab, '.range', '1–2 of 2');
    expect(await texts(tab, '.row-id')).toEqual(['atlantis', 'new-zealand']);
  });

  test('turns the pages of what was found', async () => {
    const tab = await demo.openWithCountries();
    await type(tab, '#search', 'rep');
    await shows(tab, '.range', '1–40 of 140');
    await click(tab, '[aria-label="Next page"]');
    await shows(tab, '.range', '41–80 of 140');
    await click(tab, '[aria-label="Previous page"]');
    await shows(tab, '.range', '1–40 of 140');
  });
}

function theMap(demo: Demo): void {
  test('sees how far the map is while it counts', async () => {
    await demo.serve();
    const tab = await demo.open('#/sync');
    await until(tab, 'navigator.serviceWorker.controller !== null');
    const count = 60_000;
    await tab.evaluate(`(async () => {
      const send = async (path, method, body) => {
        const answer = await fetch('/db/cities' + path, { method, body, headers: { 'content-type': 'application/json' } });
        if (!answer.ok) throw new Error(await answer.text());
      };
      await send('', 'PUT');
      const docs = Array.from({ length: 5_000 }, (_, at) => ({ latlng: [(at % 120) - 60, (at % 340) - 170] }));
      for (let batch = 0; batch < ${count / 5_000}; batch++) await send('/_bulk_docs', 'POST', JSON.stringify({ docs }));
      globalThis.counted = [];
      new MutationObserver(() => {
        const now = document.querySelector('.counting');
        if (now) counted.push([now.textContent, now.querySelector('progress').value]);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })()`);
    await navigateTo(tab, '#/cities');
    await until(tab, `/, \\d+ lit$/.test(document.querySelector('.overview canvas')?.getAttribute('aria-label'))`);
    const counted = await tab.evaluate(`counted.filter(([told, share]) =>
      /^Counting what the map shows · [\\d,]+ of [\\d,]+, [\\d.]+%$/.test(told) && share > 0 && share < 1).length > 0`);
    expect(counted, JSON.stringify(await tab.evaluate('counted'))).toBe(true);
    await until(tab, `document.querySelector('.counting') === null`);
  });
}
