/** What docs/sync.md says, done as it says: a server, and an app on two devices, which are two browsers. */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { filesOf } from '../recipes/page-files.ts';
import { patient } from '../support/patience.ts';
import { TcpRelay } from '../support/replication/tcp-relay.ts';
import { matchesAnswer, readSteps } from '../unit/docs/console-blocks.ts';
import { PageSession } from '../unit/docs/page-session.ts';
import { readPage } from '../unit/docs/pages.ts';
import { createApp } from './app-builds.ts';
import type { Browser, Tab } from './drivers/browser.ts';
import { chosenEngines, startBrowser } from './drivers/start.ts';
import { startSiteServer } from './server.ts';

const guide = readPage('docs/sync.md').text;
const files = filesOf(guide);
const soon = { ...patient, interval: 50 };

const SAVED = 'Everything is on the server.';
const ADMIN = 'http://admin:s3cret@127.0.0.1:5984';

test('docs/sync.md has the files of an app, and two in place of one of them', () => {
  expect([...files.keys()]).toEqual([
    ...['vite.config.mts', 'index.html', 'session.ts', 'remote.ts', 'notes.ts', 'status.ts', 'list.ts', 'app.ts'],
    ...['remote-for-each-user.ts', 'remote-of-all.ts'],
  ]);
});

/** The app on a device. */
class Device {
  readonly browser: Browser;
  tab: Tab;

  private constructor(browser: Browser, tab: Tab) {
    this.browser = browser;
    this.tab = tab;
  }

  static async open(browser: Browser, address: string): Promise<Device> {
    return new Device(browser, await browser.open(address));
  }

  async logIn(user: string, password: string): Promise<void> {
    await this.#until("document.querySelector('#login')?.hidden", false);
    await this.tab.evaluate(`{
      const form = document.querySelector('#login');
      form.elements.namedItem('user').value = ${JSON.stringify(user)};
      form.elements.namedItem('password').value = ${JSON.stringify(password)};
      form.requestSubmit();
    }`);
  }

  async refuses(reason: string): Promise<void> {
    await this.#until("document.querySelector('#login output')?.textContent", reason);
  }

  async add(text: string): Promise<void> {
    await this.#until("document.querySelector('main')?.hidden", false);
    await this.tab.evaluate(`{
      document.querySelector('#add input').value = ${JSON.stringify(text)};
      document.querySelector('#add').requestSubmit();
    }`);
  }

  /** The note with that text. Resolves when the change is stored: otherwise it could be made to a version that comes from the server meanwhile. */
  async edit(user: string, text: string, changed: string): Promise<void> {
    await this.tab.evaluate(`{
      const input = [...document.querySelectorAll('li input')].find(({ value }) => value === ${JSON.stringify(text)});
      input.value = ${JSON.stringify(changed)};
      input.dispatchEvent(new Event('change'));
    }`);
    const stored = `fetch('/db/notes-${user}/_all_docs?include_docs=true').then((answer) => answer.json())`;
    await this.#until(`${stored}.then(({ rows }) => rows.some(({ doc }) => doc.text === '${changed}'))`, true);
  }

  async removeFirst(): Promise<void> {
    await this.tab.evaluate("document.querySelector('li button').click()");
  }

  async shows(...texts: readonly string[]): Promise<void> {
    const shown = "[...document.querySelectorAll('li input')].map(({ value }) => value).sort()";
    await this.#until(shown, [...texts].sort());
  }

  async says(state: string): Promise<void> {
    await this.#until("document.querySelector('main output')?.textContent", state);
  }

  async remarks(...texts: readonly string[]): Promise<void> {
    const remarks = "[...document.querySelectorAll('li')].map((item) => item.lastChild.textContent).filter(Boolean)";
    await this.#until(remarks, texts);
  }

  click(id: string): Promise<unknown> {
    return this.tab.evaluate(`document.querySelector('#${id}').click()`);
  }

  /** Names of the databases with notes in this browser. */
  async has(...names: readonly string[]): Promise<void> {
    const databases = "fetch('/db/_all_dbs').then((answer) => answer.json())";
    await this.#until(`${databases}.then((names) => names.filter((name) => !name.startsWith('_')))`, names);
  }

  async #until(expression: string, value: unknown): Promise<void> {
    const shown = () => this.tab.evaluate(expression).catch(String);
    try {
      await expect.poll(shown, soon).toEqual(value);
    } catch {
      const replications = "fetch('/db/_scheduler/docs').then((answer) => answer.text())";
      const described = { shown: await shown(), address: await this.tab.evaluate('location.href').catch(String) };
      const work = await this.tab.evaluate(replications).catch(String);
      throw new Error(`expected ${JSON.stringify(value)}: ${JSON.stringify(described)} ${work}`);
    }
  }
}

describe.each(chosenEngines())('the guide to sync, with two devices, in %s', (engine) => {
  let session: PageSession;
  let relay: TcpRelay;
  let browsers: readonly Browser[];

  beforeAll(async () => {
    browsers = await Promise.all([startBrowser(engine), startBrowser(engine)]);
  }, 300_000);

  // A second attempt needs a server without what the first one wrote.
  beforeEach(async () => {
    session = await PageSession.open();
    for (const { command, answer } of readSteps(guide)) {
      const actual = await session.run(command);
      if (!matchesAnswer(actual, answer)) expect({ command, answer: actual }).toEqual({ command, answer });
    }
    relay = await TcpRelay.start(session.origin);
  }, 120_000);

  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail')
      for (const { messages } of browsers) console.info(messages.slice(-20).join('\n'));
    await relay?.close();
    await session?.close();
  });

  afterAll(async () => {
    for (const browser of browsers ?? []) await browser.close();
  });

  /** The app as the guide has it, with another file for `remote.ts` if one is named. Each has an origin of its own, so that nothing is cached. */
  async function openDevices(remote = 'remote.ts'): Promise<readonly [phone: Device, laptop: Device, origin: string]> {
    const app = createApp({}, ['vite']);
    const there = new Map(files).set('remote.ts', files.get(remote) ?? '');
    for (const [name, text] of there) app.write(name, text.replaceAll('http://localhost:5984', relay.url));
    await app.build({ configFile: join(app.path, 'vite.config.mts') });
    const { origin, close } = await startSiteServer(app.outDir);
    onTestFinished(async () => {
      await close();
      app.remove();
    });
    await session.run(`curl -s -X PUT ${ADMIN}/_config/cors/origins -d '"${origin}"'`);
    const [phone, laptop] = await Promise.all(browsers.map((browser) => Device.open(browser, `${origin}/`)));
    if (phone === undefined || laptop === undefined) throw new Error('two browsers were started');
    return [phone, laptop, origin];
  }

  async function leave(device: Device): Promise<void> {
    await device.click('wipe');
    await expect
      .poll(() => device.tab.evaluate("document.querySelector('#login')?.hidden").catch(String), soon)
      .toBe(false);
    await device.tab.close();
  }

  test('notes are copied, conflicts resolved, refusals shown, and logging out ends it', {
    timeout: 300_000,
  }, async () => {
    const [phone, laptop, origin] = await openDevices();
    await phone.logIn('ana', 'orange');
    await phone.refuses('Name or password is incorrect.');
    await phone.logIn('ana', 'apple');
    await phone.add('milk');
    await phone.says(SAVED);
    await laptop.logIn('bob', 'pear');
    await laptop.shows('milk');
    await laptop.add('bread');
    await phone.shows('milk', 'bread');

    // Both write while the server can't be reached, one of them after a reload.
    const port = await relay.refuse();
    await laptop.tab.reload();
    await phone.edit('ana', 'milk', 'milk, 1 l');
    await laptop.shows('milk', 'bread');
    await laptop.edit('bob', 'milk', 'oat milk');
    for (const device of [phone, laptop]) {
      await device.says('Offline. What you write is on this device, and is copied later.');
    }
    await relay.listen(port);
    for (const device of [phone, laptop]) await device.click('retry');
    for (const device of [phone, laptop]) {
      await device.shows('milk, 1 l / oat milk', 'bread');
      await device.says(SAVED);
    }

    // The rule of the server.
    const long = 'salt '.repeat(30).trim();
    await laptop.add(long);
    await laptop.remarks('A note has at most 100 characters.');
    await laptop.says('Everything is on the server, except the notes with a remark.');
    await laptop.edit('bob', long, 'salt');
    await laptop.remarks();
    await laptop.says(SAVED);
    await phone.shows('milk, 1 l / oat milk', 'bread', 'salt');

    // The session ends, but the app goes on.
    const user = `${ADMIN}/_users/org.couchdb.user:bob`;
    const { _rev } = JSON.parse(await session.run(`curl -s ${user}`));
    const bob = { _rev, type: 'user', name: 'bob', password: 'plum', roles: ['family'] };
    await session.run(`curl -s -X PUT ${user} -d '${JSON.stringify(bob)}'`);
    await laptop.add('jam');
    await laptop.says('Log in again, so that your notes are copied.');
    await laptop.logIn('bob', 'plum');
    await laptop.says(SAVED);
    await phone.shows('milk, 1 l / oat milk', 'bread', 'salt', 'jam');
    await phone.removeFirst();
    await expect.poll(() => laptop.tab.evaluate("document.querySelectorAll('li').length"), soon).toBe(3);

    // Logging out keeps the notes, or deletes them.
    await phone.says(SAVED);
    await phone.click('leave');
    await phone.logIn('bob', 'plum');
    await phone.has('notes-ana', 'notes-bob');
    await leave(phone);
    await leave(laptop);
    const again = await Device.open(phone.browser, `${origin}/`);
    await again.has('notes-ana');
    await again.logIn('ana', 'apple');
    await again.says(SAVED);
    await leave(again);
  });

  test('each user may have a database', async () => {
    const [phone, laptop] = await openDevices('remote-for-each-user.ts');
    for (const device of [phone, laptop]) await device.logIn('ana', 'apple');
    await phone.add('milk');
    await laptop.shows('milk');
    expect(await session.run(`curl -s ${ADMIN}/notes-ana`)).toContain('"doc_count":1');
    for (const device of [phone, laptop]) await leave(device);
  });

  test('all users may have one, with a selector', async () => {
    const [phone, laptop] = await openDevices('remote-of-all.ts');
    await phone.logIn('ana', 'apple');
    await phone.add('milk');
    await phone.add('bread');
    await phone.says(SAVED);
    await laptop.logIn('ana', 'apple');
    await laptop.shows('milk', 'bread');
    await laptop.removeFirst();
    await expect.poll(() => phone.tab.evaluate("document.querySelectorAll('li').length"), soon).toBe(1);
    for (const device of [phone, laptop]) await leave(device);
  });
});
