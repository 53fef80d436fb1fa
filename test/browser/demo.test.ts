import { describe, expect, test } from 'vitest';
import { NodeHost } from '../support/conformance/node-host.ts';
import { patient } from '../support/patience.ts';
import { pause } from './browser-session.ts';
import {
  click,
  create,
  dropBesideFrame,
  dropPhoto,
  edit,
  lastId,
  navigateTo,
  put,
  readAgain,
  recordMapAndRequests,
  remove,
  retype,
  row,
  shows,
  text,
  tooWide,
  type,
  until,
  value,
} from './demo-page.ts';
import { type Demo, useDemo } from './demo-session.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** The built demo, used by its buttons and its editor, in two tabs, one of which follows the other by feeds. */
describe.each(chosenEngines())('the demo in %s', (engine) => {
  const demo = useDemo(engine);
  synchronization(demo);
  outage(demo);
  countries(demo);
  otherTabs(demo);
  liveList(demo);
  livePages(demo);
  loading(demo);
  losses(demo);
});

/** The page that keeps a list in sync with a server. */
function synchronization(demo: Demo): void {
  test('synchronizes a list with the server: offline, with a conflict, and when that is resolved', async () => {
    await demo.serve(await NodeHost.start());
    const tab = await demo.open('#/sync');
    const here = (rest: string) => `[data-side=here] ${rest}`;
    const there = (rest: string) => `[data-side=there] ${rest}`;
    const first = '.packing li:first-child input[type=text]';
    await until(tab, `document.querySelectorAll('${there('.packing li')}').length === 4`);
    await shows(tab, '.line-state', 'In sync');
    await retype(tab, here(first), 'Hammock');
    await until(tab, `document.querySelector('${there(first)}').value === 'Hammock'`);
    await click(tab, '[role=switch]');
    await shows(tab, '.line-state', 'Disconnected: each side goes its own way');
    await retype(tab, here(first), 'Blanket');
    await retype(tab, there(first), 'Sleeping bag');
    await pause(1_000);
    expect(await tab.evaluate(`document.querySelector('${here(first)}').value`)).toBe('Blanket');
    await click(tab, '[role=switch]');
    for (const side of [here, there]) {
      await until(tab, `document.querySelectorAll('${side('.is-torn [data-action=keep]')}').length === 2`);
      expect(await text(tab, side('.is-torn [data-action=keep]'))).toBe('Blanket');
    }
    await click(tab, there('[data-action=keep]'));
    for (const side of [here, there]) {
      await until(tab, `document.querySelector('${side(first)}')?.value === 'Blanket'`);
    }
  });

  test('says what to do if the server has an admin, and continues once that is done', async () => {
    const database = await NodeHost.start({ admins: { root: 'secret' } });
    await demo.serve(database);
    const tab = await demo.open('#/sync');
    await until(
      tab,
      `document.querySelector('.server-panel')?.textContent.startsWith('The server refuses: only its admin may make the database settee-demo there.')`,
    );
    const authorization = `Basic ${Buffer.from('root:secret').toString('base64')}`;
    await fetch(`${database.baseUrl}/settee-demo`, { method: 'PUT', headers: { authorization } });
    await shows(tab, '.line-state', 'In sync');
    await until(tab, `!document.querySelector('.not-begun').checkVisibility()`);
    await until(tab, `document.querySelectorAll('[data-side=there] .packing li').length === 4`);
  });
}

function outage(demo: Demo): void {
  test('says that the server is unreachable, and how many changes wait for it', async () => {
    await demo.serve(await NodeHost.start());
    const tab = await demo.open('#/sync');
    await shows(tab, '.line-state', 'In sync');
    await shows(tab, '.line-pending', 'Nothing left to copy');
    await demo.stopDatabase();
    await shows(tab, '.line-state', 'The server can’t be reached');
    await shows(tab, '.line-pending', 'Nothing here waits to be sent');
    expect(await text(tab, '.line-trouble')).toMatch(
      /^Since \d+:\d\d:\d\d [AP]M\. (Being tried now|Next attempt in \d+ s)\.$/,
    );
    await shows(
      tab,
      '[data-side=there] [role=status]',
      'This database can’t be reached at the moment; this is its last known content.',
    );
    await expectNothingIsLost(tab);
    await retype(tab, '[data-side=here] .packing li:first-child input[type=text]', 'Hammock');
    await shows(tab, '.line-pending', '1 change here waits to be sent');
    await click(tab, '[role=switch]');
    await shows(tab, '.line-state', 'Disconnected: each side goes its own way');
    await shows(tab, '.line-pending', '1 change here waits to be sent');
  });
}

/** In the list of a server that is away: ticks go back, and words stay, with why they are not stored. */
async function expectNothingIsLost(tab: Tab): Promise<void> {
  const first = '[data-side=there] .packing li:first-child';
  const tick = `document.querySelector('${first} input[type=checkbox]').checked`;
  await click(tab, `${first} input[type=checkbox]`);
  await until(tab, `${tick} === false`);
  await retype(tab, `${first} input[type=text]`, 'Tarp');
  const notStored = '“Tarp” is not stored, because the database could not be reached. It is still “Tent and pegs”.';
  await shows(tab, `${first} .refused p`, notStored);
  await click(tab, `${first} [data-action=keep-theirs]`);
  await until(tab, `document.querySelector('${first} input[type=text]')?.value === 'Tent and pegs'`);
  const entry = `document.querySelector('[data-side=there] input[name=item]')`;
  expect(await tab.evaluate(`${entry}.value = 'Rope', ${entry}.form.requestSubmit(), ${entry}.value`)).toBe('');
  await until(tab, `${entry}.value === 'Rope'`);
}

function countries(demo: Demo): void {
  test('loads the countries, and finds them by their names', async () => {
    const tab = await demo.openWithCountries();
    expect(await text(tab, '.rows li:first-child .row-title')).toBe('Afghanistan');
    await click(tab, '[aria-label="Next page"]');
    await shows(tab, '.range', '41–80 of 250');
    await click(tab, '[aria-label="Previous page"]');
    await shows(tab, '.range', '1–40 of 250');
    await type(tab, '#search', 'Åland');
    await shows(tab, '.range', '1–1 of 1');
    expect(await text(tab, '.row-id')).toBe('aland-islands');
    await type(tab, '#search', 'atlantis');
    await shows(tab, '.empty-note', 'No country has a name with “atlantis”, in any language.');
    // By links, and by the way back.
    await navigateTo(tab, '#/countries?q=new');
    await shows(tab, '.range', '1–3 of 3');
    await navigateTo(tab, '#/countries');
    await shows(tab, '.range', '1–40 of 250');
    await tab.evaluate('history.back()');
    await shows(tab, '.range', '1–3 of 3');
    expect(await tab.evaluate('document.querySelector("#search").value')).toBe('new');
  });

  test("doesn't cut off a name that is one long word", async () => {
    const tab = await demo.openWithCountries();
    const id = 'a'.repeat(2_000);
    await tab.evaluate(create(id));
    await navigateTo(tab, `#/countries/${id}`);
    await shows(tab, 'h1', id);
    expect(await tooWide(tab)).toEqual([]);
  });

  test('keeps an unsaved edit, and restores a deleted document', async () => {
    const tab = await demo.openWithCountries();
    await navigateTo(tab, '#/countries/austria');
    await edit(tab, '"Vienna"', '"Wien"');
    await navigateTo(tab, '#/countries/peru');
    await shows(tab, 'h1', 'Peru');
    await navigateTo(tab, '#/countries/austria');
    expect(await value(tab)).toContain('"Wien"');
    await click(tab, '[data-action=revert]');
    expect(await value(tab)).toContain('"Vienna"');
    await click(tab, '[data-action=delete]');
    await shows(tab, 'h1', 'Deleted');
    await shows(tab, '.range', '1–40 of 249');
    await click(tab, '[data-action=restore]');
    await shows(tab, 'h1', 'Austria');
    await shows(tab, '.range', '1–40 of 250');
  });
}

/** What one tab saves, another one shows. */
function otherTabs(demo: Demo): void {
  test('shows in one tab what another tab saved', async () => {
    const writer = await demo.openWithCountries();
    const reader = await demo.open('#/countries/austria');
    await shows(reader, 'h1', 'Austria');
    await navigateTo(writer, '#/countries/austria');
    await edit(writer, '"common": "Austria"', '"common": "Austria, edited"');
    await click(writer, '[data-action=save]');
    await shows(writer, '.message', 'Saved.');
    await shows(reader, 'h1', 'Austria, edited');
    await shows(reader, '.message', 'Another tab has changed this document just now.');
    expect(await value(reader)).toContain('"common": "Austria, edited"');
  });

  test('stores a dropped photo, and shows it in another tab', async () => {
    const tab = await demo.openWithCountries();
    await navigateTo(tab, '#/countries/austria');
    await shows(tab, '.photo p', 'Drop a photo here. It is stored in this browser, and shown without a network.');
    const other = await demo.open('#/countries/austria');
    await shows(other, '.photo p', 'Drop a photo here. It is stored in this browser, and shown without a network.');
    await dropPhoto(tab, 'the alps.png');
    await until(tab, 'document.querySelector(".photo img")?.naturalWidth === 12');
    expect(await value(tab)).toContain('"content_type": "image/png"');
    expect(await dropBesideFrame(tab)).toBe(false);
    await until(other, 'document.querySelector(".photo img")?.naturalWidth === 12');
    expect(await text(other, '.photo figcaption span')).toBe('the alps.png');
    await click(other, '[data-action=remove-photo]');
    await shows(tab, '.photo p', 'Drop a photo here. It is stored in this browser, and shown without a network.');
  });

  test('shows a save conflict with another tab, and merges both changes', async () => {
    const slower = await demo.openWithCountries();
    await navigateTo(slower, '#/countries/austria');
    const quicker = await demo.open('#/countries/austria');
    await edit(slower, '"Vienna"', '"Wien"');
    await edit(quicker, '"area": 83871', '"area": 83879');
    await click(quicker, '[data-action=save]');
    await shows(quicker, '.message', 'Saved.');
    await shows(slower, '.message', 'Another tab has changed this document in the meantime.');
    await click(slower, '[data-action=save]');
    await shows(slower, '.conflict h3', 'Another tab was quicker');
    expect(await text(slower, '.conflict tbody')).toBe('capital["Wien"]["Vienna"]area8387183879');
    await click(slower, '.conflict .primary');
    await shows(slower, '.message', 'Saved.');
    await shows(quicker, '.subtitle', 'Wien · Europe');
    expect(await value(quicker)).toContain('"area": 83879');
  });
}

/** Asked for when the map begins, and when documents were deleted. */
const MAP = '/db/countries/_design/map/_view/squares?group=true';

/** The list follows changes without reading it again. */
function liveList(demo: Demo): void {
  test('updates list, map and counters when another tab changes documents', async () => {
    const writer = await demo.openWithCountries();
    const reader = await demo.open('#/countries');
    await shows(reader, '.range', '1–40 of 250');
    await shows(reader, '.live', 'Live');
    await recordMapAndRequests(reader);
    await navigateTo(writer, '#/countries/albania');
    await edit(writer, '"Tirana"', '"Durrës"');
    await click(writer, '[data-action=save]');
    await shows(reader, `${row('albania')} .row-subtitle`, 'Durrës · Europe');
    await until(reader, `document.querySelector('${row('albania')}').classList.contains('is-news')`);
    await shows(reader, '.overview-news', 'Another tab changed Albania');
    // Where 41° north and 20° east are.
    expect(await reader.evaluate('recorded.pulses')).toEqual(['left: 55.56%; top: 27.61%;']);
    expect(await readAgain(reader)).toEqual([]);
    // What a tab writes is no news to itself.
    expect(await writer.evaluate('document.querySelectorAll(".is-news").length')).toBe(0);

    await click(writer, '[data-action=delete]');
    await shows(reader, '.range', '1–40 of 249');
    await shows(reader, '.app-bar .count', '249');
    await shows(reader, '.overview-count', '249 countries in this browser');
    await shows(reader, '.overview-news', 'Another tab deleted albania');
    expect(await text(reader, row('albania'))).toBe(null);
    await click(writer, '[data-action=restore]');
    await shows(reader, '.range', '1–40 of 250');
    await shows(reader, '.app-bar .count', '250');
    await until(reader, `document.querySelector('${row('albania')}')?.classList.contains('is-news') === true`);
    // Only the map asks, after a deletion.
    expect(await readAgain(reader)).toEqual([MAP]);
  });
}

function livePages(demo: Demo): void {
  test('updates pages and search results without a new request by the user', async () => {
    const writer = await demo.openWithCountries();
    const reader = await demo.open('#/countries');
    await shows(reader, '.range', '1–40 of 250');
    await click(reader, '[aria-label="Next page"]');
    await shows(reader, '.range', '41–80 of 250');
    const [first, last] = [await text(reader, '.rows li:first-child .row-id'), await text(reader, lastId)];
    await recordMapAndRequests(reader);
    // One that comes before the page, then one on it, which takes the place of the last one.
    await writer.evaluate(create('aaa'));
    await shows(reader, '.range', '42–81 of 251');
    expect(await text(reader, '.rows li:first-child .row-id')).toBe(first);
    await writer.evaluate(create(`${first}-b`));
    await shows(reader, '.rows li:nth-child(2) .row-id', `${first}-b`);
    await shows(reader, '.range', '42–81 of 252');
    await writer.evaluate(remove(`${first}-b`));
    await shows(reader, lastId, String(last));
    await shows(reader, '.range', '42–81 of 251');
    expect(await readAgain(reader)).toEqual([MAP]);

    await type(reader, '#search', 'aust');
    await shows(reader, '.range', '1–3 of 3');
    await reader.evaluate('recorded.requests.length = 0');
    await writer.evaluate(create('austen'));
    await shows(reader, '.range', '1–4 of 4');
    expect(await text(reader, '.rows li:first-child .row-id')).toBe('austen');
    expect(await readAgain(reader)).toEqual([]);
  });
}

function loading(demo: Demo): void {
  test('shows what another tab loads while it loads, and again after the database was deleted', async () => {
    await demo.serve();
    const loader = await demo.open('#/countries');
    const reader = await demo.open('#/countries');
    await recordMapAndRequests(reader);
    for (let round = 1; round <= 2; round++) {
      await shows(reader, '.load h2', 'No countries yet');
      await reader.evaluate('recorded.requests.length = 0');
      await click(loader, '[data-action=load]');
      await shows(reader, '.range', '1–40 of 250');
      await shows(reader, '.app-bar .count', '250');
      await until(
        reader,
        `recorded.requests.includes(${JSON.stringify(MAP)}) && recorded.requests.some((url) => url.includes('/_changes?feed=continuous'))`,
      );
      // It looks for its view, and where the changes begin, follows them, and reads the list once, if not while it was empty; all else it is told.
      const asked = String(await reader.evaluate('recorded.requests.join("\\n")')).split('\n');
      expect(asked.filter((address) => address.includes('/_changes?feed=continuous'))).toHaveLength(1);
      const lists = asked.filter((address) => address.includes('/_view/documents?'));
      expect(lists.length, asked.join('\n')).toBeLessThanOrEqual(1);
      expect(asked.filter((address) => !/_changes|_view|_all_docs|_bulk_docs/.test(address))).toEqual([
        '/db/countries',
      ]);
      expect(asked.filter((address) => address === MAP)).toHaveLength(1);
      expect(asked.length, asked.join('\n')).toBeLessThanOrEqual(6);
      // It follows documents, too, not only their number.
      // What comes together with many others is not told by itself, so it is changed until it does not.
      const changed = async () => {
        await loader.evaluate(put('countries/austria', '"area":83871', '"area":1'));
        return text(reader, '.overview-news');
      };
      await expect.poll(changed, { ...patient, interval: 500 }).toBe('Another tab changed Austria');
      await loader.evaluate('fetch("/db/countries", { method: "DELETE" }).then(() => undefined)');
    }
  });
}

/** Tabs, pages and the server go. */
function losses(demo: Demo): void {
  test('continues when the tab that owns the storage is closed', async () => {
    const owner = await demo.openWithCountries();
    const writer = await demo.open('#/countries/albania');
    const reader = await demo.open('#/countries');
    // The list is read once the changes are followed.
    await shows(reader, '.range', '1–40 of 250');
    await shows(writer, 'h1', 'Albania');
    await owner.close();
    await shows(reader, '.live', 'Reconnecting …');
    await edit(writer, '"Tirana"', '"Durrës"');
    await click(writer, '[data-action=save]');
    await shows(writer, '.message', 'Saved.');
    await shows(reader, `${row('albania')} .row-subtitle`, 'Durrës · Europe');
    await shows(reader, '.overview-news', 'Another tab changed Albania');
    await dropPhoto(writer, 'tirana.png');
    await navigateTo(reader, '#/countries/albania');
    await until(reader, 'document.querySelector(".photo img")?.naturalWidth === 12');
    await click(writer, '[data-action=delete]');
    await shows(reader, 'h1', 'Nothing here');
    await shows(reader, '.app-bar .count', '249');
    await shows(reader, '.live', 'Live');
  });

  test('continues when a page that was left is shown again', async () => {
    const writer = await demo.openWithCountries();
    const reader = await demo.open('#/countries');
    await shows(reader, '.range', '1–40 of 250');
    await reader.evaluate('globalThis.isTheSame = true');
    await reader.navigate(`${demo.url}/favicon.svg`);
    await writer.evaluate(put('countries/albania', '"Tirana"', '"Durrës"'));
    await reader.back();
    await shows(reader, `${row('albania')} .row-subtitle`, 'Durrës · Europe');
    if (demo.browser.can.backForwardCache === true) expect(await reader.evaluate('globalThis.isTheSame')).toBe(true);
    await writer.evaluate(put('countries/albania', '"Durrës"', '"Vlorë"'));
    await shows(reader, `${row('albania')} .row-subtitle`, 'Vlorë · Europe');
  });

  test('starts and answers after its server is gone', async () => {
    const tab = await demo.openWithCountries();
    await demo.stopServer();
    await tab.reload();
    await shows(tab, '.range', '1–40 of 250');
    await navigateTo(tab, '#/countries/peru');
    await edit(tab, '"Lima"', '"Lima, offline"');
    await click(tab, '[data-action=save]');
    await shows(tab, '.message', 'Saved.');
    await dropPhoto(tab, 'lima.png');
    await until(tab, 'document.querySelector(".photo img")?.naturalWidth === 12');
    await tab.reload();
    await shows(tab, '.subtitle', 'Lima, offline · Americas');
    await until(tab, 'document.querySelector(".photo img")?.naturalWidth === 12');
  });
}
