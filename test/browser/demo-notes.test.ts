import { describe, expect, test } from 'vitest';
import { NodeHost } from '../support/conformance/node-host.ts';
import { pause } from './browser-session.ts';
import {
  beginsWith,
  bothDevices,
  bringUp,
  choosePhoto,
  clickMap,
  hasNotes,
  isLinked,
  isTold,
  of,
  titles,
  versionsOf,
  violations,
  write,
} from './demo-notes-page.ts';
import { click, navigateTo, shows, text, type, until } from './demo-page.ts';
import { type Demo, useDemo } from './demo-session.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

const IN_SYNC = 'In sync through the server';

/** The first page of the built demo: field notes on two devices, each with a database of its own in this browser. */
describe.each(chosenEngines())('the field notes of the demo in %s', (engine) => {
  const demo = useDemo(engine);
  notes(demo);
  apart(demo);
  conflicts(demo);
  withoutServer(demo);
  whole(demo);
});

/** The page with the notes with which it begins, on both devices. */
async function openNotes(demo: Demo): Promise<{ readonly tab: Tab; readonly database: NodeHost }> {
  const database = await NodeHost.start();
  await demo.serve(database);
  const tab = await demo.open('');
  for (const device of bothDevices) {
    await hasNotes(tab, device, 6);
    await isLinked(tab, device, IN_SYNC);
  }
  return { tab, database };
}

/** How many notes the server has. */
async function countAt(database: NodeHost): Promise<number> {
  const answer = await fetch(`${database.baseUrl}/settee-notes/_all_docs`);
  const { rows } = (await answer.json()) as { readonly rows: readonly unknown[] };
  return rows.length;
}

async function resolveByMerge(tab: Tab): Promise<void> {
  await click(tab, of('laptop', '.torn [data-action=merge]'));
  for (const device of bothDevices) await until(tab, `document.querySelector('${of(device, '.torn')}') === null`);
}

function notes(demo: Demo): void {
  test('a note with a photo shows in the list, on the map and in the sums of both devices, and at the server', async () => {
    const { tab, database } = await openNotes(demo);
    await shows(tab, of('laptop', '.sums-total strong'), '6');
    await shows(tab, of('laptop', '[data-kind=plant] .figure'), '1');
    await type(tab, '#phone-text', 'Baobab by the road\nOlder than the road.');
    await clickMap(tab, 'phone', 0.63, 0.75);
    const place = (name: string) => tab.evaluate(`Number(document.querySelector('#phone-${name}').value)`);
    expect(Math.abs(Number(await place('latitude')) + 22.5)).toBeLessThan(1);
    expect(Math.abs(Number(await place('longitude')) - 46.8)).toBeLessThan(1);
    await choosePhoto(tab, 'phone', 2000, 1000);
    await tab.evaluate(`document.querySelector('#phone-kind').value = 'plant'`);
    await click(tab, '[data-action=phone-submit]');
    await isTold(tab, /^The phone stored “Baobab by the road” with its photo: 1 PUT, [\d,.]+ ms, connected\.$/);
    for (const device of bothDevices) {
      await bringUp(tab, device);
      await beginsWith(tab, device, 'Baobab by the road');
      await until(
        tab,
        `document.querySelector('${of(device, '.notes-rows li:first-child img')}')?.naturalWidth === 96`,
      );
      await until(tab, `document.querySelector('${of(device, '.pin[title="Baobab by the road"]')}') !== null`);
      await shows(tab, of(device, '.sums-total strong'), '7');
      await shows(tab, of(device, '[data-kind=plant] .figure'), '2');
    }
    await isTold(tab, /^The laptop received “Baobab by the road”, through the server\.$/);
    expect(await text(tab, of('laptop', '.notes-rows li:first-child .note-row-about'))).toMatch(
      /^Plant · .*, .* · 2\d\.\d° S, 4\d\.\d° E$/,
    );
    expect(await countAt(database)).toBe(7);
    // The photo itself, scaled down.
    await click(tab, of('laptop', '.notes-rows li:first-child button'));
    await until(tab, `document.querySelector('${of('laptop', '.note-photo')}')?.naturalWidth === 1024`);
  });

  test('a note is found by words of its text, kind and tags', async () => {
    const { tab } = await openNotes(demo);
    await write(tab, 'phone', 'Übergang im Café\nwith a dragonfly');
    await hasNotes(tab, 'laptop', 7);
    for (const [query, found] of [
      ['ubergang drago', ['Übergang im Café']],
      ['CAFE', ['Übergang im Café']],
      ['weather', ['First snow on the pass']],
      ['moss', ['Moss garden after the rain']],
      ['mountains', ['First snow on the pass', 'Last light on the glacier']],
      ['mountains ice', ['Last light on the glacier']],
    ] as const) {
      await type(tab, '#laptop-search', query);
      await shows(tab, of('laptop', '.notes-list > .hint'), `${found.length} of 7 notes`);
      await expect.poll(() => titles(tab, 'laptop')).toEqual(found);
    }
    await type(tab, '#laptop-search', 'unicorn');
    await shows(tab, of('laptop', '.notes-list > .hint'), 'No note has the words “unicorn”.');
    // What arrives meanwhile is found, too.
    await write(tab, 'phone', 'A unicorn, perhaps');
    await beginsWith(tab, 'laptop', 'A unicorn, perhaps');
  });

  test('a note is changed and deleted, and a pin opens it', async () => {
    const { tab } = await openNotes(demo);
    await bringUp(tab, 'phone');
    await click(tab, of('phone', '.pin[title="Moss garden after the rain"]'));
    await until(tab, `document.querySelector('#phone-open-text')?.value.startsWith('Moss garden after the rain')`);
    expect(await tab.evaluate(`document.querySelector('#phone-open-latitude').value`)).toBe('35.00');
    await type(tab, '#phone-open-text', 'Moss garden, again');
    await click(tab, '[data-action=phone-open-submit]');
    await bringUp(tab, 'laptop');
    await click(tab, of('laptop', '.pin[title="Moss garden, again"]'));
    await click(tab, of('laptop', '[data-action=delete-note]'));
    await isTold(tab, /^The laptop deleted “Moss garden, again”: 1 DELETE, [\d,.]+ ms, connected\.$/);
    for (const device of bothDevices) await hasNotes(tab, device, 5);
  });
}

function apart(demo: Demo): void {
  test('what is written offline stays on its device, is counted, and arrives when both are online again', async () => {
    const { tab } = await openNotes(demo);
    await click(tab, of('phone', '[role=switch]'));
    await isLinked(tab, 'phone', 'Disconnected. All of this works.');
    await write(tab, 'phone', 'Written in the tunnel');
    await isTold(tab, /^The phone stored “Written in the tunnel”: 1 PUT, [\d,.]+ ms, disconnected\.$/);
    await isLinked(tab, 'phone', 'Disconnected. 1 change waits to be sent.');
    await write(tab, 'laptop', 'Written at the desk');
    await hasNotes(tab, 'laptop', 7);
    await pause(1_000);
    expect(await titles(tab, 'laptop')).not.toContain('Written in the tunnel');
    expect(await titles(tab, 'phone')).not.toContain('Written at the desk');
    // The switch is the same in every tab and after a reload.
    await tab.reload();
    await isLinked(tab, 'phone', 'Disconnected. 1 change waits to be sent.');
    await click(tab, of('phone', '[role=switch]'));
    for (const device of bothDevices) {
      await hasNotes(tab, device, 8);
      await isLinked(tab, device, IN_SYNC);
    }
  });
}

function conflicts(demo: Demo): void {
  test('a conflict is made, shown on both devices, and merged field by field on one of them', async () => {
    const { tab } = await openNotes(demo);
    await click(tab, '[data-action=tear]');
    const [onPhone, onLaptop] = [await versionsOf(tab, 'phone'), await versionsOf(tab, 'laptop')];
    expect(onPhone).toBe(onLaptop);
    expect(onPhone).toContain('Seen from the path, in the last light.');
    expect(onPhone).toContain('Compare with the entry of last week.');
    await isTold(tab, /^The phone changed “[^”]+”: 1 PUT, [\d,.]+ ms, disconnected\.$/);
    await isTold(
      tab,
      /^Both versions of “[^”]+” have reached the laptop\. Nothing is lost: it keeps both until you choose\.$/,
    );
    await resolveByMerge(tab);
    await isTold(tab, /^The phone received the resolution of “[^”]+”\. Both devices agree again\.$/);
    await isTold(tab, /^The laptop merged the versions field by field of “[^”]+”: 1 POST, [\d,.]+ ms, connected\.$/);
    for (const device of bothDevices) {
      await click(tab, of(device, '.notes-rows li:first-child button'));
      await until(tab, `document.querySelector('#${device}-open-text') !== null`);
      const merged = String(await tab.evaluate(`document.querySelector('#${device}-open-text').value`))
        .split('\n')
        .slice(-2);
      expect(merged).toEqual(['Seen from the path, in the last light.', 'Compare with the entry of last week.']);
    }
  });

  test('a second conflict offers other choices, and one version can be kept whole', async () => {
    const { tab } = await openNotes(demo);
    await click(tab, '[data-action=tear]');
    const first = await versionsOf(tab, 'laptop');
    await resolveByMerge(tab);
    await click(tab, '[data-action=tear]');
    const second = await versionsOf(tab, 'laptop');
    await versionsOf(tab, 'phone');
    expect(second).not.toBe(first);
    expect(second).toContain('Two more came from the north.');
    expect(second).toContain('To be checked against the guide.');
    // Of two notes that are the same on both devices, it may be another one than before.
    const id = String(await tab.evaluate(`document.querySelector('${of('phone', '.torn')}').dataset.id`));
    await click(tab, of('phone', '.torn [data-action=keep-1]'));
    await isTold(tab, /^The phone kept the laptop’s version of “[^”]+”: 1 POST, [\d,.]+ ms, connected\.$/);
    for (const device of bothDevices) {
      await until(tab, `document.querySelector('${of(device, '.torn')}') === null`);
      await click(tab, of(device, `.notes-rows [data-id=${id}] button`));
      await until(
        tab,
        `document.querySelector('#${device}-open-text')?.value.endsWith('To be checked against the guide.')`,
      );
    }
  });
}

function withoutServer(demo: Demo): void {
  test('the devices sync directly when the server stops, and keep their notes through a reload', async () => {
    const { tab } = await openNotes(demo);
    await demo.stopDatabase();
    for (const device of bothDevices) {
      const other = device === 'phone' ? 'laptop' : 'phone';
      await isLinked(tab, device, `In sync with the ${other}, without a server`);
    }
    await write(tab, 'phone', 'No server in sight');
    await beginsWith(tab, 'laptop', 'No server in sight');
    await isTold(tab, /^The laptop received “No server in sight”, directly, without a server\.$/);
    await demo.stopServer();
    await tab.reload();
    for (const device of bothDevices) await hasNotes(tab, device, 7);
    await until(tab, `document.querySelector('${of('laptop', '.notes-rows img')}')?.naturalWidth === 96`);
    await write(tab, 'laptop', 'Not even a page server');
    await beginsWith(tab, 'phone', 'Not even a page server');
  });

  test('a page whose demo has no server beside it begins with the same notes on both devices', async () => {
    await demo.serve();
    const tab = await demo.open('#/notes');
    for (const device of bothDevices) await hasNotes(tab, device, 6);
    await isLinked(tab, 'phone', 'In sync with the laptop, without a server');
    await click(tab, of('laptop', '[role=switch]'));
    await isLinked(tab, 'phone', 'No server, and the laptop is disconnected. Nothing waits.');
  });
}

function whole(demo: Demo): void {
  test('starting over deletes all notes everywhere, and begins again', async () => {
    const { tab, database } = await openNotes(demo);
    await write(tab, 'phone', 'To be forgotten');
    await hasNotes(tab, 'laptop', 7);
    await click(tab, '[data-action=start-over]');
    await click(tab, '[data-action=really-start-over]');
    await isTold(tab, /^7 notes were deleted, on both devices and the server\.$/);
    for (const device of bothDevices) {
      await hasNotes(tab, device, 6);
      expect(await titles(tab, device)).not.toContain('To be forgotten');
      await isLinked(tab, device, IN_SYNC);
    }
    await expect.poll(() => countAt(database)).toBe(6);
  });

  test('requests are copied as fetch and as curl', async () => {
    const { tab, database } = await openNotes(demo);
    await tab.evaluate(`void (navigator.clipboard.writeText = async (text) => { globalThis.copied = text; })`);
    await write(tab, 'phone', 'Copied');
    await until(tab, `document.querySelector('.notes-requests li .method')?.textContent !== undefined`);
    const copy = (name: string) =>
      tab.evaluate(`[...document.querySelectorAll('.notes-requests li')].find((line) =>
        line.querySelector('.method').textContent === 'PUT' && line.querySelector('.path').textContent.startsWith('/db/notes-phone/note-')
      )?.querySelector('[data-action=copy-${name}]').click()`);
    await until(
      tab,
      `[...document.querySelectorAll('.notes-requests .path')].some((path) => path.textContent.startsWith('/db/notes-phone/note-'))`,
    );
    await copy('fetch');
    await until(tab, `globalThis.copied?.startsWith("await fetch('/db/notes-phone/note-") === true`);
    expect(await tab.evaluate('copied')).toContain('"text": "Copied"');
    await copy('curl');
    // At the server itself, whose copy of the notes has another name.
    const address = new URL(database.baseUrl).href;
    await until(tab, `globalThis.copied?.includes("curl -X PUT '${address}settee-notes/note-") === true`);
    expect(await tab.evaluate('copied')).toContain('# The database notes-phone is in this browser');
  });

  test('is accessible: with notes, with an open one, and with a conflict', async () => {
    const { tab } = await openNotes(demo);
    expect(await violations(tab)).toEqual([]);
    await bringUp(tab, 'phone');
    await click(tab, of('phone', '.notes-rows li:first-child button'));
    await until(tab, `document.querySelector('#phone-open-text') !== null`);
    expect(await violations(tab)).toEqual([]);
    await click(tab, '[data-action=tear]');
    for (const device of bothDevices) await versionsOf(tab, device);
    expect(await violations(tab)).toEqual([]);
  });

  test('other pages are still there, and the way back', async () => {
    const { tab } = await openNotes(demo);
    await navigateTo(tab, '#/countries');
    await shows(tab, '.load h2', 'No countries yet');
    await navigateTo(tab, '#/');
    for (const device of bothDevices) await hasNotes(tab, device, 6);
    expect(await text(tab, '.app-bar [aria-current]')).toBe('Field notes');
  });
}
