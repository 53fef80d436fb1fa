import { describe, expect, test } from 'vitest';
import { demoPolicy } from '../../src/node/server/demo.ts';
import { NodeHost } from '../support/conformance/node-host.ts';
import {
  bringToSight,
  click,
  dropPhoto,
  edit,
  isLitAt,
  keepsOtherPages,
  navigateTo,
  openPhone,
  recordCounts,
  remove,
  shows,
  texts,
  type,
  until,
  value,
} from './demo-page.ts';
import { type Demo, useDemo } from './demo-session.ts';
import { chosenEngines } from './drivers/start.ts';

/** What a visitor of the built demo sees at first, and would wonder about. */
describe.each(chosenEngines())('a visitor of the demo in %s', (engine) => {
  const demo = useDemo(engine);
  theMap(demo);
  counts(demo);
  documents(demo);
  conflicts(demo);
  network(demo);
  theBrowser(demo);
  waysOn(demo);
  aPhone(demo);
});

/** Where New Zealand is, which is not on the first page of the list. */
const NEW_ZEALAND = [-41, 174] as const;

function theMap(demo: Demo): void {
  test('sees all documents on the map, also after loading and after a reload', async () => {
    const tab = await demo.openWithCountries();
    const lit = 'document.querySelector(".overview canvas")?.getAttribute("aria-label").endsWith(", 243 lit") === true';
    await until(tab, lit);
    await until(tab, isLitAt(NEW_ZEALAND));
    await tab.reload();
    await until(tab, lit);
    await until(tab, isLitAt(NEW_ZEALAND));
    // A search shows what it found in front, and takes nothing away.
    await type(tab, '#search', 'aust');
    await shows(tab, '.overview-count', '250 countries in this browser, in front the 3 listed here');
    await until(tab, lit);
    await tab.evaluate(remove('new-zealand'));
    await shows(tab, '.overview-count', '249 countries in this browser, in front the 3 listed here');
    await until(tab, lit.replace('243', '242'));
  });
}

function counts(demo: Demo): void {
  test('sees one count while documents are loaded, wherever it shows', async () => {
    await demo.serve();
    const tab = await demo.open('#/countries');
    await until(tab, 'document.querySelector("[data-action=load]") !== null');
    await recordCounts(tab);
    await click(tab, '[data-action=load]');
    await shows(tab, '.range', '1–40 of 250');
    await until(
      tab,
      '/^250 documents in .* a second. Done.$/.test(document.querySelector(".load .figures").textContent)',
    );
    expect(await tab.evaluate('counted.filter((all) => new Set(all).size > 1)')).toEqual([]);
    expect(await tab.evaluate('counted.at(-1)')).toEqual(['250', '250', '250']);
  });
}

function documents(demo: Demo): void {
  test('sees the neighbours of a country by name, and goes to them', async () => {
    const tab = await demo.openWithCountries();
    await tab.evaluate(remove('italy'));
    await navigateTo(tab, '#/countries/austria');
    await until(tab, 'document.querySelectorAll(".neighbours a").length === 7');
    const names = ['Czechia', 'Germany', 'Hungary', 'Liechtenstein', 'Slovakia', 'Slovenia', 'Switzerland'];
    expect(await texts(tab, '.neighbours a')).toEqual(names);
    // What is not there has no name.
    expect(await texts(tab, '.neighbours span')).toEqual(['ITA']);
    await click(tab, '.neighbours a');
    await shows(tab, 'h1', 'Czechia');
  });

  test('is told what to load if the country of a city is not there', async () => {
    await demo.serve();
    const tab = await demo.open('#/countries/austria');
    await until(
      tab,
      'document.querySelector(".subtitle")?.textContent.includes("the countries are not loaded yet") === true',
    );
    expect(await tab.evaluate('document.querySelector(".subtitle a").hash')).toBe('#/countries');
  });

  test('brings back a deleted document with its photo', async () => {
    const tab = await demo.openWithCountries();
    await navigateTo(tab, '#/countries/austria');
    await shows(tab, 'h1', 'Austria');
    await dropPhoto(tab, 'the alps.png');
    await until(tab, 'document.querySelector(".photo img")?.naturalWidth === 12');
    await click(tab, '[data-action=delete]');
    await shows(tab, 'h1', 'Deleted');
    await click(tab, '[data-action=restore]');
    await shows(tab, 'h1', 'Austria');
    await until(tab, 'document.querySelector(".photo img")?.naturalWidth === 12');
  });

  test('keeps an unsaved edit when a photo is dropped', async () => {
    const tab = await demo.openWithCountries();
    await navigateTo(tab, '#/countries/austria');
    await edit(tab, '"Vienna"', '"Wien"');
    await dropPhoto(tab, 'the alps.png');
    await shows(tab, '.message', 'Save or undo your changes of the text first, then the photo can change.');
    expect(await value(tab)).toContain('"Wien"');
  });
}

function conflicts(demo: Demo): void {
  test('makes a conflict twice, about another item and in other words', async () => {
    await demo.serve(await NodeHost.start());
    const tab = await demo.open('#/sync');
    await shows(tab, '.line-state', 'In sync');
    const choices = async (count: number) => {
      await click(tab, '[data-action=tear]');
      for (const side of ['here', 'there']) {
        await until(tab, `document.querySelectorAll('[data-side=${side}] [data-action=keep]').length === ${count}`);
      }
      return texts(tab, '[data-side=here] [data-action=keep]');
    };
    expect(await choices(2)).toEqual(['Raincoats, the long ones', 'Umbrellas']);
    // The first one is not resolved yet.
    expect(await choices(4)).toEqual(['Cocoa', 'Tea, and the kettle', 'Raincoats, the long ones', 'Umbrellas']);
  });

  test('makes a conflict although the list is empty', async () => {
    await demo.serve(await NodeHost.start());
    const tab = await demo.open('#/sync');
    await shows(tab, '.line-state', 'In sync');
    for (let left = 4; left > 0; left--) {
      // Where the last one was removed, it can be brought back.
      await until(tab, `document.querySelectorAll('[data-side=here] .packing li:not(.is-removed)').length === ${left}`);
      await click(tab, '[data-side=here] .remove');
    }
    for (const side of ['here', 'there']) {
      await until(tab, `document.querySelectorAll('[data-side=${side}] .packing li:not(.is-removed)').length === 0`);
    }
    await click(tab, '[data-action=tear]');
    await until(tab, `document.querySelectorAll('[data-side=there] [data-action=keep]').length === 2`);
  });
}

function network(demo: Demo): void {
  test('is told when the server goes away and when it is back', async () => {
    await demo.serve(await NodeHost.start());
    const tab = await demo.open('#/browser');
    await bringToSight(tab);
    await shows(tab, '.network', 'Online');
    await shows(tab, '.card:nth-child(2) .card-title', 'Online');
    await demo.stopServer();
    await shows(tab, '.network', 'Server away · all of this works');
    await shows(tab, '.card:nth-child(2) .card-title', 'The server is away');
    await demo.startServer();
    await shows(tab, '.network', 'Online');
  });

  test('is told when only the database server goes away', async () => {
    await demo.serve(await NodeHost.start());
    const tab = await demo.open('#/countries');
    await bringToSight(tab);
    await shows(tab, '.network', 'Online');
    await demo.stopDatabase();
    await shows(tab, '.network', 'Server away · all of this works');
  });

  test('is online where the demo is served alone', async () => {
    await demo.serve();
    const tab = await demo.open('#/countries');
    await shows(tab, '.network', 'Online');
  });
}

function theBrowser(demo: Demo): void {
  test('sees every database of the browser, and deletes the list of the page Sync', async () => {
    await demo.serve(await NodeHost.start());
    const tab = await demo.open('#/sync');
    await shows(tab, '.line-state', 'In sync');
    await bringToSight(tab);
    await navigateTo(tab, '#/browser');
    const rows = '.databases tbody tr';
    await until(tab, `document.querySelectorAll('${rows}').length === 4`);
    expect(await texts(tab, `${rows} code`)).toEqual(['/db/countries', '/db/cities', '/db/packing', '/db/_replicator']);
    expect(await texts(tab, `${rows} td:nth-child(2)`)).toEqual(['not there', 'not there', '4', '2']);
    await click(tab, '[data-action=delete-packing]');
    await click(tab, 'dialog .danger');
    await shows(tab, `${rows}:nth-child(3) td`, 'not there');
    // The server's list is still there, and comes back.
    await navigateTo(tab, '#/sync');
    await until(tab, `document.querySelectorAll('[data-side=here] .packing li').length === 4`);
  });
}

function waysOn(demo: Demo): void {
  test('finds the administration, the documentation and the source', async () => {
    const database = await NodeHost.start();
    await demo.serve(database);
    const tab = await demo.open('#/countries');
    await until(tab, 'document.querySelectorAll(".overview .further a").length === 4');
    const links = '[...document.querySelectorAll(".menu a")].map((link) => link.pathname)';
    expect(await tab.evaluate(links)).toEqual([
      '/db/_utils/',
      '/server/_utils/',
      '/docs/docs/README.html',
      '/docs/src/README.html',
    ]);
    await click(tab, '.menu summary');
    expect(await tab.evaluate('document.querySelector(".menu").open')).toBe(true);
    await tab.evaluate('document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }))');
    expect(await tab.evaluate('document.querySelector(".menu").open')).toBe(false);
    // With a service worker, and without the server, once their files are kept.
    await keepsOtherPages(tab);
    await demo.stopServer();
    await tab.navigate(`${demo.url}db/_utils/`);
    await shows(tab, 'h1', 'Databases');
    await tab.navigate(`${demo.url}docs/docs/README.html`);
    await shows(tab, 'h1', 'Documentation');
    await demo.startServer();
    await tab.navigate(`${demo.url}server/_utils/`);
    await until(tab, `location.origin === ${JSON.stringify(new URL(database.baseUrl).origin)}`);
  });
}

function aPhone(demo: Demo): void {
  test('sees the intro and the map on a phone, also after loading', async () => {
    // In a frame as wide as a phone.
    await demo.serve(undefined, demoPolicy.replace("frame-ancestors 'none'", "frame-ancestors 'self'"));
    const tab = await demo.open('docs/README.html');
    await openPhone(tab, '#/countries');
    await until(tab, '$("[data-action=load]") !== null');
    await tab.evaluate('$("[data-action=load]").click()');
    await until(tab, '$(".range")?.textContent === "1–40 of 250"');
    // The intro, below it the map, and below that the list.
    expect(await tab.evaluate('$(".overview h1").checkVisibility() && $(".overview canvas").checkVisibility()')).toBe(
      true,
    );
    expect(
      await tab.evaluate('top$(".overview h1") < top$(".overview canvas") && top$(".overview canvas") < top$(".rows")'),
    ).toBe(true);
    expect(await tab.evaluate('$(".dataset").scrollWidth <= 390')).toBe(true);
    // A document from far below begins at its top, and the way back leads to its row.
    await tab.evaluate(`$('.rows a[data-id="canada"]').click()`);
    await until(tab, '$("h1")?.textContent === "Canada"');
    expect(await tab.evaluate('$(".dataset").scrollTop')).toBe(0);
    await tab.evaluate('$(".back").click()');
    await until(
      tab,
      `$('.rows a[data-id="canada"]')?.checkVisibility() && top$('.rows a[data-id="canada"]') > 0 && top$('.rows a[data-id="canada"]') < 760`,
    );
  });
}
