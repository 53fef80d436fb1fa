import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import type { Browser, Engine, LaunchOptions, Tab } from './drivers/browser.ts';
import { startBrowser } from './drivers/start.ts';
import type { SuiteOutcome } from './outcome.ts';
import { startTestServer, type TestServer } from './server.ts';

const builtFiles = join(import.meta.dirname, '../../dist/browser');

/** A browser, in which tests get origins of their own: each has empty storage and no service worker. */
export interface BrowserSession {
  readonly browser: Browser;
  openSite(): Promise<Site>;
  closeSites(): Promise<void>;
  close(): Promise<void>;
}

export interface Site {
  readonly server: TestServer;
  open(page: string, parameters?: Readonly<Record<string, string>>): Promise<Tab>;
  /** Closes the tabs that were opened and are still there, then the server. */
  close(): Promise<void>;
}

export async function openBrowserSession(engine: Engine, options?: LaunchOptions): Promise<BrowserSession> {
  const browser = await startBrowser(engine, options);
  const sites: Site[] = [];
  const closeSites = async () => {
    for (const site of sites.splice(0)) await site.close();
  };
  return {
    browser,
    closeSites,
    openSite: async () => {
      const site = await openSite(browser);
      sites.push(site);
      return site;
    },
    close: async () => {
      await closeSites();
      await browser.close();
    },
  };
}

/** One browser for the tests of a `describe`, whose sites end with each test. Where one fails, tells what the browser said last. */
export function useBrowserSession(
  engine: Engine,
  options?: LaunchOptions,
): Pick<BrowserSession, 'browser' | 'openSite'> {
  let session: BrowserSession | undefined;
  const present = () => must(session, 'session of a test that runs');
  beforeAll(async () => {
    session = await openBrowserSession(engine, options);
  });
  afterAll(() => session?.close());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.info(session?.browser.messages.slice(-30).join('\n'));
    await session?.closeSites();
  });
  return {
    get browser() {
      return present().browser;
    },
    openSite: () => present().openSite(),
  };
}

async function openSite(browser: Browser): Promise<Site> {
  const server = await startTestServer([builtFiles, inject('builtPages')]);
  const tabs: Tab[] = [];
  return {
    server,
    open: async (page, parameters) => {
      const tab = await browser.open(server.page(page, parameters));
      tabs.push(tab);
      return tab;
    },
    close: async () => {
      // Those that a test closed or killed itself are no longer there.
      for (const tab of tabs.splice(0)) await tab.close().catch(() => undefined);
      await server.close();
    },
  };
}

/**
 * Waits for a page that runs a suite by itself, however long that takes. Fails when no case ends for `silenceMs`, and when the browser does not answer
 * for that long.
 */
export async function collectOutcome(tab: Tab, browser: Browser, silenceMs = 180_000): Promise<SuiteOutcome> {
  let lastMark = 'nothing yet';
  let markedAt = Date.now();
  const ask = (expression: string) => answeredWithin(silenceMs, tab.evaluate(expression), lastMark);
  for (;;) {
    const mark = String(await ask(progress));
    if (mark === 'done') return JSON.parse(String(await ask('JSON.stringify(suiteOutcome)')));
    if (mark !== lastMark) {
      lastMark = mark;
      markedAt = Date.now();
    } else if (Date.now() - markedAt > silenceMs) {
      const errors = await ask('pageErrors.join("\\n")');
      throw new Error(
        `the page is stuck in "${mark}" for ${silenceMs} ms\n${errors}\n${browser.messages.slice(-20).join('\n')}`,
      );
    }
    await pause(200);
  }
}

async function answeredWithin<T>(milliseconds: number, answer: Promise<T>, mark: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = () => reject(new Error(`the browser does not answer for ${milliseconds} ms, in or after "${mark}"`));
    timer = setTimeout(fail, milliseconds);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Short, since it is asked for often: `done`, or the case under way. */
const progress = `(() => {
  const { isDone, current } = globalThis.suiteOutcome ?? {};
  return isDone ? 'done' : String(current);
})()`;

/** Between two looks into a page, of which no driver tells by an event. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
