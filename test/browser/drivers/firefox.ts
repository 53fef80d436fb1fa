import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Browser as Driver, launch, type Page } from 'puppeteer-core';
import { must } from '../../../src/base/shared/assert.ts';
import { patient } from '../../support/patience.ts';
import type { Abilities, Browser, LaunchOptions, SavedFile, Tab } from './browser.ts';
import { findFirefox } from './find-browser.ts';
import { burnProcessor, busiestProcess, processesBelow, seesProcesses } from './processes.ts';

const CONTENT = '-contentproc';

export async function startFirefox({ preferences = {}, blocksSiteData }: LaunchOptions = {}): Promise<Browser> {
  const downloads = mkdtempSync(join(tmpdir(), 'settee-firefox-'));
  const saving = { 'browser.download.folderList': 2, 'browser.download.dir': downloads };
  const blocking = blocksSiteData ? { 'network.cookie.cookieBehavior': 2 } : {};
  const driver = await launch({
    browser: 'firefox',
    executablePath: findFirefox(),
    headless: true,
    protocol: 'webDriverBiDi',
    protocolTimeout: 600_000,
    // Nobody looks at them, and Firefox would send one for each request and answer.
    networkEnabled: false,
    extraPrefsFirefox: { 'browser.sessionhistory.max_total_viewers': 0, ...saving, ...blocking, ...preferences },
  });
  return new Firefox(driver, downloads);
}

/** By Puppeteer, over WebDriver BiDi. */
class Firefox implements Browser {
  readonly engine = 'firefox';
  readonly can: Abilities = {
    freeze: seesProcesses,
    kill: seesProcesses,
    stopServiceWorkers: 'WebDriver BiDi has no command for it',
    limitStorage: 'the bound is a preference, set before the start',
    setOffline: 'WebDriver BiDi has no command for it in Firefox',
    dispatchSync: 'Firefox has no background synchronization',
    backForwardCache: 'Firefox does not cache pages with a worker, and the driver loses track of those that it does',
    hardReload: 'WebDriver BiDi has no command for it in Firefox',
    download: true,
  };
  readonly messages: string[] = [];
  readonly #driver: Driver;
  /** The folder where it saves files. */
  readonly #downloads: string;

  constructor(driver: Driver, downloads: string) {
    this.#driver = driver;
    this.#downloads = downloads;
  }

  async open(url: string): Promise<Tab> {
    const page = await this.#driver.newPage();
    page.on('console', (message) => this.messages.push(`${message.type()}: ${message.text()}`));
    page.on('pageerror', (error) => this.messages.push(`uncaught: ${String(error)}`));
    await page.goto(url).catch(async (failure: unknown) => {
      await page.close();
      throw failure;
    });
    return new FirefoxTab(page, this.#root, this.#downloads);
  }

  stopServiceWorkers(): Promise<void> {
    throw new Error(String(this.can.stopServiceWorkers));
  }

  limitStorage(): Promise<void> {
    throw new Error(String(this.can.limitStorage));
  }

  setOffline(): Promise<void> {
    throw new Error(String(this.can.setOffline));
  }

  dispatchSync(): Promise<void> {
    throw new Error(String(this.can.dispatchSync));
  }

  async processes(): Promise<readonly number[]> {
    return processesBelow(this.#root, CONTENT);
  }

  async close(): Promise<void> {
    await this.#driver.close();
    rmSync(this.#downloads, { recursive: true, force: true, maxRetries: 5 });
  }

  get #root(): number {
    return must(this.#driver.process()?.pid, 'browser process');
  }
}

class FirefoxTab implements Tab {
  readonly #page: Page;
  readonly #root: number;
  readonly #downloads: string;

  constructor(page: Page, root: number, downloads: string) {
    this.#page = page;
    this.#root = root;
    this.#downloads = downloads;
  }

  evaluate(expression: string): Promise<unknown> {
    return this.#page.evaluate(expression);
  }

  /** Of what it has not saved wholly yet there is an empty file, beside another one. */
  async download(script: string): Promise<SavedFile> {
    const before = readdirSync(this.#downloads).length;
    await this.#page.evaluate(script);
    for (const giveUpAt = Date.now() + patient.timeout; Date.now() < giveUpAt; await pause(50)) {
      const names = readdirSync(this.#downloads);
      const [name = ''] = names;
      if (before > 0 || names.length !== 1 || statSync(join(this.#downloads, name)).size === 0) continue;
      const text = readFileSync(join(this.#downloads, name), 'utf8');
      rmSync(join(this.#downloads, name));
      return { name, text };
    }
    throw new Error('Firefox has not saved one file');
  }

  async navigate(url: string): Promise<void> {
    await this.#page.goto(url);
  }

  async reload(how?: 'hard'): Promise<void> {
    if (how === 'hard') throw new Error('no command for a hard reload');
    await this.#page.reload();
  }

  async back(): Promise<void> {
    await this.#page.goBack();
  }

  async close(): Promise<void> {
    await this.#page.close();
  }

  process(): Promise<number> {
    return busiestProcess(this.#root, CONTENT, () => this.#page.evaluate(burnProcessor));
  }
}
