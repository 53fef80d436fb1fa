import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core';
import { must } from '../../../src/base/shared/assert.ts';
import type { Abilities, Browser, LaunchOptions, SavedFile, Tab } from './browser.ts';
import { findChromium } from './find-browser.ts';
import { burnProcessor, busiestProcess, findProcess, processesBelow, seesProcesses } from './processes.ts';

const RENDERER = '--type=renderer';

/** Without the networking flags the browser's own requests are refused by the dozen and slow it down. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Those that are to be switched on, where the run says so. */
const features = process.env['SETTEE_CHROMIUM_FEATURES'];

export async function startChromium({ blocksSiteData = false }: LaunchOptions = {}): Promise<Browser> {
  const folder = mkdtempSync(join(tmpdir(), 'settee-chromium-'));
  if (blocksSiteData) writePreferences(folder, { profile: { default_content_setting_values: { cookies: 2 } } });
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: findChromium(),
    headless: true,
    args: features === undefined ? flags : [...flags, `--enable-features=${features}`],
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
  });
  return new Chromium(context, folder);
}

function writePreferences(folder: string, preferences: object): void {
  mkdirSync(join(folder, 'Default'));
  writeFileSync(join(folder, 'Default', 'Preferences'), JSON.stringify(preferences));
}

/** By Playwright, over the devtools protocol. */
class Chromium implements Browser {
  readonly engine = 'chromium';
  readonly can: Abilities = {
    freeze: seesProcesses,
    kill: seesProcesses,
    stopServiceWorkers: true,
    limitStorage: true,
    setOffline: true,
    dispatchSync: true,
    backForwardCache: true,
    hardReload: true,
    download: true,
  };
  readonly messages: string[] = [];
  readonly #context: BrowserContext;
  readonly #folder: string;
  /** A page of the driver's own, from which the devtools domains of the whole browser are reached. */
  #devtools: Promise<CDPSession> | undefined;

  constructor(context: BrowserContext, folder: string) {
    this.#context = context;
    this.#folder = folder;
    context.on('console', (message) => this.messages.push(`${message.type()}: ${message.text()}`));
    context.on('weberror', (error) => this.messages.push(`uncaught: ${error.error().stack ?? error.error().message}`));
  }

  async open(url: string): Promise<Tab> {
    const page = await this.#context.newPage();
    page.on('crash', () => this.messages.push(`crashed: ${page.url()}`));
    await page.goto(url).catch(async (failure: unknown) => {
      await page.close();
      throw failure;
    });
    return new ChromiumTab(page, this.#folder);
  }

  async stopServiceWorkers(): Promise<void> {
    const session = await this.#session();
    await session.send('ServiceWorker.enable');
    await session.send('ServiceWorker.stopAllWorkers');
    await session.send('ServiceWorker.disable');
  }

  async limitStorage(origin: string, bytes: number): Promise<void> {
    const session = await this.#session();
    await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: bytes });
  }

  async setOffline(isOffline: boolean): Promise<void> {
    await this.#context.setOffline(isOffline);
  }

  async dispatchSync(origin: string, tag: string): Promise<void> {
    const session = await this.#session();
    const found = new Promise<string>((resolve) => {
      session.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const registration = registrations.find(({ scopeURL, isDeleted }) => scopeURL === `${origin}/` && !isDeleted);
        if (registration !== undefined) resolve(registration.registrationId);
      });
    });
    await session.send('ServiceWorker.enable');
    const registrationId = await found;
    await session.send('ServiceWorker.dispatchSyncEvent', { origin, registrationId, tag, lastChance: false });
    await session.send('ServiceWorker.disable');
  }

  async processes(): Promise<readonly number[]> {
    return processesBelow(rootOf(this.#folder), RENDERER);
  }

  async close(): Promise<void> {
    await this.#context.close();
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 });
  }

  #session(): Promise<CDPSession> {
    this.#devtools ??= this.#context.newPage().then((page) => this.#context.newCDPSession(page));
    return this.#devtools;
  }
}

class ChromiumTab implements Tab {
  readonly #page: Page;
  readonly #folder: string;

  constructor(page: Page, folder: string) {
    this.#page = page;
    this.#folder = folder;
  }

  evaluate(expression: string): Promise<unknown> {
    return this.#page.evaluate(expression);
  }

  async download(script: string): Promise<SavedFile> {
    const [download] = await Promise.all([this.#page.waitForEvent('download'), this.#page.evaluate(script)]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
  }

  async navigate(url: string): Promise<void> {
    await this.#page.goto(url);
  }

  async reload(how?: 'hard'): Promise<void> {
    if (how === undefined) {
      await this.#page.reload();
      return;
    }
    const session = await this.#page.context().newCDPSession(this.#page);
    const loaded = this.#page.waitForEvent('load');
    await session.send('Page.reload', { ignoreCache: true });
    await loaded;
  }

  async back(): Promise<void> {
    // A page out of the cache fires no load event; `commit` is all there is.
    await this.#page.goBack({ waitUntil: 'commit' });
  }

  async close(): Promise<void> {
    await this.#page.close();
  }

  process(): Promise<number> {
    return busiestProcess(rootOf(this.#folder), RENDERER, () => this.#page.evaluate(burnProcessor));
  }
}

function rootOf(folder: string): number {
  return must(findProcess(`--user-data-dir=${folder}`), 'browser process');
}
