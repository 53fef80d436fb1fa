import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { demoPolicy } from '../../src/node/server/demo.ts';
import { NodeHost } from '../support/conformance/node-host.ts';
import { patient } from '../support/patience.ts';
import { bothDevices, bringUp, choosePhoto, hasNotes, isLinked, isTold, of, titles, write } from './demo-notes-page.ts';
import { click, openPhone, shows, text, texts, type, until } from './demo-page.ts';
import { type Demo, useDemo } from './demo-session.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/** Where somebody who sees the demo for the first time would hesitate. */
describe.each(chosenEngines())('a newcomer to the first page of the demo in %s', (engine) => {
  const demo = useDemo(engine);
  beginning(demo);
  severalConflicts(demo);
  accidents(demo);
  whyNoServer(demo);
  shared(demo);
  aPhone(demo);
});

async function openNotes(demo: Demo): Promise<{ readonly tab: Tab; readonly database: NodeHost }> {
  const database = await NodeHost.start();
  await demo.serve(database);
  const tab = await demo.open('');
  for (const device of bothDevices) {
    await hasNotes(tab, device, 6);
    await isLinked(tab, device, 'In sync through the server');
  }
  return { tab, database };
}

function beginning(demo: Demo): void {
  test('reads what Settee is and for whom, and a line to type, which works', async () => {
    const { tab } = await openNotes(demo);
    expect(await text(tab, '.intro-what')).toBe(
      'Settee is a document database that runs in the browser, for developers whose web apps must work offline and sync later. You use it with fetch:',
    );
    const line = String(await text(tab, '.intro-line code'));
    expect(line).toMatch(/^await fetch\('\/db\/notes-phone\/note-hello', \{ method: 'PUT', /);
    await until(tab, 'navigator.serviceWorker.controller !== null');
    await tab.evaluate(`(async () => { ${line}; })()`);
    for (const device of bothDevices) {
      await hasNotes(tab, device, 7);
      expect(await titles(tab, device)).toContain('Hello');
    }
    expect(await texts(tab, '.intro-command code')).toEqual(['npm start', 'npm install settee']);
    expect(await tab.evaluate(`document.querySelector('.intro a').pathname`)).toBe('/docs/docs/first-app.html');
  });

  test('hides that for good', async () => {
    const { tab } = await openNotes(demo);
    await click(tab, '.intro-what');
    await until(tab, `localStorage.getItem('intro-closed') !== null`);
    await tab.reload();
    await hasNotes(tab, 'phone', 6);
    expect(await tab.evaluate(`document.querySelector('.intro').open`)).toBe(false);
  });

  test('writes a note that has no kind and no tags but those that were chosen for it', async () => {
    const { tab } = await openNotes(demo);
    const fields = `['kind', 'tags', 'time', 'latitude'].map((name) => document.querySelector('#phone-' + name).value)`;
    expect(await tab.evaluate(fields)).toEqual(['', '', '', '']);
    await type(tab, '#phone-tags', 'river');
    await tab.evaluate(`document.querySelector('#phone-kind').value = 'plant'`);
    await write(tab, 'phone', 'Reeds');
    await hasNotes(tab, 'phone', 7);
    expect(await tab.evaluate(fields)).toEqual(['', '', '', '']);
    await write(tab, 'phone', 'Only words');
    await until(
      tab,
      `document.querySelector('${of('phone', '.note-row-about')}')?.textContent.startsWith('No kind · ') === true`,
    );
  });
}

function severalConflicts(demo: Demo): void {
  test('goes from one conflict to the next, and resolves them in turn', async () => {
    const { tab } = await openNotes(demo);
    const id = () => tab.evaluate(`document.querySelector('${of('laptop', '.torn')}').dataset.id`);
    await click(tab, '[data-action=tear]');
    for (const device of bothDevices) await until(tab, `document.querySelector('${of(device, '.torn')}') !== null`);
    // One alone has no number.
    expect(await tab.evaluate(`document.querySelector('${of('laptop', '.torn-head')}').checkVisibility()`)).toBe(false);
    await click(tab, '[data-action=tear]');
    for (const device of bothDevices) {
      await until(
        tab,
        `/^Conflict [12] of 2$/.test(document.querySelector('${of(device, '.torn-head p')}')?.textContent)`,
      );
    }
    const before = await text(tab, of('laptop', '.torn-head p'));
    const first = await id();
    await click(tab, of('laptop', '[data-action=next-conflict]'));
    await shows(
      tab,
      of('laptop', '.torn-head p'),
      before === 'Conflict 1 of 2' ? 'Conflict 2 of 2' : 'Conflict 1 of 2',
    );
    await until(tab, `document.querySelector('${of('laptop', '.torn')}').dataset.id !== ${JSON.stringify(first)}`);
    // Resolving it leads to the other one, also for those who use the keyboard. A narrow window shows one device.
    await bringUp(tab, 'laptop');
    await tab.evaluate(`document.querySelector('${of('laptop', '.torn [data-action=merge]')}').focus()`);
    await click(tab, of('laptop', '.torn [data-action=merge]'));
    await until(tab, `document.querySelector('${of('laptop', '.torn')}').dataset.id === ${JSON.stringify(first)}`);
    await until(tab, `document.activeElement?.matches('${of('laptop', '.torn h3')}') === true`);
    await click(tab, of('laptop', '.torn [data-action=merge]'));
    for (const device of bothDevices) await until(tab, `document.querySelector('${of(device, '.torn')}') === null`);
  });

  test('opens a note in conflict, and sees its versions at the top', async () => {
    const { tab } = await openNotes(demo);
    for (let round = 1; round <= 2; round++) {
      await click(tab, '[data-action=tear]');
      await until(tab, `document.querySelectorAll('${of('phone', '.note-row-torn')}').length === ${round}`);
    }
    await bringUp(tab, 'phone');
    const torn = `[...document.querySelectorAll('${of('phone', '.notes-rows li')}')].filter((row) => row.querySelector('.note-row-torn'))`;
    for (const at of [1, 0]) {
      const id = await tab.evaluate(`${torn}[${at}].dataset.id`);
      await tab.evaluate(`${torn}[${at}].querySelector('button').click()`);
      await until(tab, `document.querySelector('${of('phone', '.torn')}')?.dataset.id === ${JSON.stringify(id)}`);
      await shows(
        tab,
        of('phone', '.note-message'),
        'This is one of its 2 versions: what becomes of them is chosen at the top.',
      );
      await click(tab, of('phone', '[data-action=close-note]'));
    }
  });
}

function accidents(demo: Demo): void {
  test('brings back a note that was deleted by accident, with its photo', async () => {
    const { tab } = await openNotes(demo);
    await type(tab, '#phone-text', 'Reeds');
    await choosePhoto(tab, 'phone', 400, 200);
    await click(tab, '[data-action=phone-submit]');
    await hasNotes(tab, 'laptop', 7);
    const first = of('phone', '.notes-rows li:first-child button');
    await click(tab, first);
    await click(tab, of('phone', '[data-action=delete-note]'));
    for (const device of bothDevices) await hasNotes(tab, device, 6);
    await shows(tab, of('phone', '.undo p'), '“Reeds” was deleted.');
    // A second press is no press of anything.
    expect(await tab.evaluate(`document.activeElement.matches('${of('phone', '.undo p')}')`)).toBe(true);
    await click(tab, of('phone', '[data-action=undo-delete]'));
    await isTold(tab, /^The phone brought back “Reeds”: 1 PUT, [\d,.]+ ms, connected\.$/);
    for (const device of bothDevices) await hasNotes(tab, device, 7);
    await bringUp(tab, 'laptop');
    await until(
      tab,
      `document.querySelector('${of('laptop', '.notes-rows li:first-child img')}')?.naturalWidth === 96`,
    );
    expect(await tab.evaluate(`document.querySelector('${of('phone', '.undo')}').hidden`)).toBe(true);
  });

  test('goes on typing while notes arrive', async () => {
    const { tab } = await openNotes(demo);
    await tab.evaluate(`document.querySelector('#phone-text').focus()`);
    await type(tab, '#phone-text', 'Half a sen');
    await type(tab, '#phone-tags', 'river');
    await write(tab, 'laptop', 'Meanwhile');
    await hasNotes(tab, 'phone', 7);
    expect(
      await tab.evaluate(
        `[document.activeElement.id, document.querySelector('#phone-text').value, document.querySelector('#phone-tags').value]`,
      ),
    ).toEqual(['phone-text', 'Half a sen', 'river']);
  });
}

/** Answers every request with this, and counts those that would make the database of the notes. */
async function startRefusing(status: number, body: string) {
  let count = 0;
  const server = createServer((incoming, outgoing) => {
    if (incoming.method === 'PUT' && incoming.url?.startsWith('/settee-notes')) count++;
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => count,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function whyNoServer(demo: Demo): void {
  const PANEL = '.notes-way [role=status]';

  test('is told that the page is served without a server', async () => {
    await demo.serve();
    const tab = await demo.open('');
    await shows(
      tab,
      PANEL,
      'This page is served as files, without a database server beside it. With npm start it has one. Meanwhile the devices sync directly with each other, and everything works.',
    );
    // The server's administration page leads nowhere then.
    await until(
      tab,
      `document.querySelector('.menu li:nth-child(2) a:not([href]) span')?.textContent === 'Not now: this page is served without a server beside it. With npm start it has one.'`,
    );
  });

  test('is told that the server does not answer, and where it was', async () => {
    const { tab, database } = await openNotes(demo);
    const address = new URL(database.baseUrl).href;
    expect(await text(tab, PANEL)).toContain(`The server at ${address} answers,`);
    await demo.stopDatabase();
    await shows(
      tab,
      PANEL,
      `No server answers at ${address}. Start it with npm start. Meanwhile the devices sync directly with each other, and everything works.`,
    );
    await until(tab, `/^Next try in \\d+ s\\.$/.test(document.querySelector('.notes-way .next-try').textContent)`);
    await until(tab, `document.querySelector('.menu li:nth-child(2) a:not([href])') !== null`);
  });

  test('is told what the server refuses, and has it tried at once', async () => {
    const server = await startRefusing(403, '{"error":"forbidden","reason":"Too many databases"}');
    await demo.serve(server);
    const tab = await demo.open('');
    await shows(
      tab,
      PANEL,
      'The server refuses: Too many databases. Meanwhile the devices sync directly with each other, and everything works.',
    );
    // From now on nothing is tried by itself, once the attempt is over that waits already.
    await tab.evaluate(`{
      const wait = setTimeout;
      globalThis.setTimeout = (work, ms, ...rest) => (ms >= 3_000 ? 0 : wait(work, ms, ...rest));
    }`);
    const before = server.count();
    await expect.poll(() => server.count(), patient).toBeGreaterThan(before);
    const waited = server.count();
    await click(tab, '.notes-way [data-action=try-server]');
    await expect.poll(() => server.count(), patient).toBeGreaterThan(waited);
  });

  test('sees a device connected or disconnected', async () => {
    const { tab } = await openNotes(demo);
    const phone = of('phone', '[role=switch]');
    await shows(tab, phone, 'Connected');
    await click(tab, phone);
    await shows(tab, phone, 'Disconnected');
    expect(await tab.evaluate(`document.querySelector('${phone}').ariaLabel`)).toBe('Phone: Disconnected');
  });
}

function shared(demo: Demo): void {
  test('is told that notes at the server are everybody’s, where they are stored and before they are deleted', async () => {
    const { tab, database } = await openNotes(demo);
    const hint = of('phone', '.shared');
    expect(await text(tab, '.notes-way')).toContain(
      'Everybody who uses that server sees these notes, and can change and delete them.',
    );
    expect(await text(tab, hint)).toBe('Everybody who uses the server sees what you store.');
    expect(await tab.evaluate(`document.querySelector('${hint}').hidden`)).toBe(false);
    await click(tab, '[data-action=start-over]');
    await shows(
      tab,
      'dialog[open] p',
      'All notes are deleted: on both devices, and at the server, which shares them with everybody who uses it. So the notes that others wrote are deleted, too. They can’t be brought back. Six sample notes take their place.',
    );
    await click(tab, 'dialog[open] button:not(.danger)');
    await until(tab, `document.querySelector('dialog[open]') === null`);
    // What a disconnected device stores is nobody else's.
    await click(tab, of('phone', '[role=switch]'));
    await until(tab, `document.querySelector('${hint}').hidden`);
    await demo.stopDatabase();
    await until(tab, `document.querySelector('${of('laptop', '.shared')}').hidden`);
    await click(tab, '[data-action=start-over]');
    await shows(
      tab,
      'dialog[open] p',
      'All notes on both devices are deleted. The server is away. When it is back it deletes those that came from there, for everybody who uses it. They can’t be brought back. Six sample notes take their place.',
    );
    expect(database).toBeDefined();
    for (const device of bothDevices) await hasNotes(tab, device, 6);
  });
}

function aPhone(demo: Demo): void {
  test('reads the requests of the page on a phone', async () => {
    // In a frame as wide as a phone.
    await demo.serve(undefined, demoPolicy.replace("frame-ancestors 'none'", "frame-ancestors 'self'"));
    const tab = await demo.open('docs/README.html');
    await openPhone(tab, '');
    await until(tab, `$$('[data-device=phone] .notes-rows li').length === 6`);
    await tab.evaluate(`$('.request-bar summary').click()`);
    await until(tab, `$$('.request-bar .requests li').length > 2`);
    // Nothing is cut off, neither a path nor a button.
    const cut = `$$('.request-bar .requests li > *, .request-bar .requests button').filter((part) =>
      part.getBoundingClientRect().right > 390 || part.scrollWidth > part.clientWidth + 1).map(({ className }) => className)`;
    await expect.poll(() => tab.evaluate(cut)).toEqual([]);
    expect(await tab.evaluate(`$('.request-bar .requests .path').clientWidth > 250`)).toBe(true);
  });
}
