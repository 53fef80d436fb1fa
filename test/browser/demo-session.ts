import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from 'vitest';
import { must } from '../../src/base/shared/assert.ts';
import type { HttpServer } from '../../src/node/http/http-server.ts';
import { type DemoOptions, demoPolicy, startDemo } from '../../src/node/server/demo.ts';
import type { NodeHost } from '../support/conformance/node-host.ts';
import { click, shows } from './demo-page.ts';
import type { Browser, Engine, Tab } from './drivers/browser.ts';
import { startBrowser } from './drivers/start.ts';

const folder = join(import.meta.dirname, '../../dist/demo');

/** One browser for all tests of a describe block, and the built demo, which each test serves on an origin of its own. */
export function useDemo(engine: Engine): Demo {
  const demo = new Demo(engine);
  beforeAll(() => demo.startBrowser());
  afterAll(() => demo.closeBrowser());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.info(demo.browser.messages.slice(-30).join('\n'));
    await demo.close();
  });
  return demo;
}

/** A database server beside the demo, or what answers in its place. */
type Beside = Pick<NodeHost, 'baseUrl' | 'close'>;

export class Demo {
  readonly #engine: Engine;
  #browser: Browser | undefined;
  #server: HttpServer | undefined;
  /** How it was served last. */
  #options: DemoOptions | undefined;
  #database: Beside | undefined;
  #tabs: Tab[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get browser(): Browser {
    return must(this.#browser, 'the browser');
  }

  get url(): string {
    return must(this.#server, 'the served demo').url;
  }

  async startBrowser(): Promise<void> {
    this.#browser = await startBrowser(this.#engine);
  }

  async closeBrowser(): Promise<void> {
    await this.#browser?.close();
  }

  /** Serves it with empty storage. The database beside it, if there is one, is for its page that is kept in sync with a server. */
  async serve(database?: Beside, wanted = demoPolicy): Promise<void> {
    this.#database = database;
    // The driver of WebKit evaluates scripts of its own.
    const policy = this.#engine === 'webkit' ? wanted.replace("'wasm-unsafe-eval'", "'unsafe-eval'") : wanted;
    this.#options = { port: 0, folder, policy, server: database?.baseUrl };
    await this.startServer();
  }

  /** Again at the same address, after it was stopped. */
  async startServer(): Promise<void> {
    const started = await startDemo(must(this.#options, 'the options of the demo'));
    if (started === undefined || typeof started === 'string')
      throw new Error(started ?? 'the demo is not built; run npm test');
    this.#server = started;
    this.#options = { ...must(this.#options, 'the options of the demo'), port: Number(new URL(started.url).port) };
  }

  async open(hash: string): Promise<Tab> {
    const tab = await this.browser.open(`${this.url}${hash}`);
    this.#tabs.push(tab);
    return tab;
  }

  async openWithCountries(): Promise<Tab> {
    await this.serve();
    const tab = await this.open('#/countries');
    await click(tab, '[data-action=load]');
    await shows(tab, '.range', '1–40 of 250');
    return tab;
  }

  async stopServer(): Promise<void> {
    await this.#server?.close();
  }

  async stopDatabase(): Promise<void> {
    await this.#database?.close();
    this.#database = undefined;
  }

  async close(): Promise<void> {
    for (const tab of this.#tabs) await tab.close().catch(() => undefined);
    this.#tabs = [];
    await this.stopServer();
    await this.stopDatabase();
  }
}
