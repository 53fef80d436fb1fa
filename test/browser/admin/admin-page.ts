import { afterAll, afterEach, beforeAll } from 'vitest';
import { must } from '../../../src/base/shared/assert.ts';
import type { Settings } from '../../support/conformance/host.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import type { Browser, Engine, Tab } from '../drivers/browser.ts';
import { startBrowser } from '../drivers/start.ts';
import { Front, LOG_IN } from './front.ts';
import { PageInTab } from './page-in-tab.ts';

/** The settings of a server with the admin `root`, whose password is `rootpw`. */
export const ROOT: Settings = { admins: { root: 'rootpw' } };

/** Tests that take longer are named in the output. */
const SLOW_MS = 10_000;

/**
 * One browser for all tests of a `describe`, and the administration page, which each test opens by itself. After each attempt at a test, whatever
 * it has opened is closed. Where one fails, tells what the browser said last.
 */
export function useAdminPage(engine: Engine): AdminPage {
  const page = new AdminPage(engine);
  beforeAll(() => page.startBrowser());
  afterAll(() => page.closeBrowser());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.info(page.browser.messages.slice(-20).join('\n'));
    const tookMs = Date.now() - (task.result?.startTime ?? Date.now());
    if (tookMs > SLOW_MS) console.info(`slow, ${(tookMs / 1000).toFixed(1)} s: ${task.name}`);
    await page.close();
  });
  return page;
}

interface Closable {
  close(): Promise<void>;
}

/** What serves the page. */
interface Server extends Closable {
  readonly baseUrl: string;
}

/** The administration page of a server, by default Settee with an admin `root`. */
export class AdminPage extends PageInTab {
  readonly #engine: Engine;
  #browser: Browser | undefined;
  #host: Server | undefined;
  #front: Front | undefined;
  #tab: Tab | undefined;
  /** What the test under way has opened, in this order. Each attempt has a list of its own. */
  #opened: Closable[] = [];

  constructor(engine: Engine) {
    super();
    this.#engine = engine;
  }

  get browser(): Browser {
    return must(this.#browser, 'the browser');
  }

  get host(): Server {
    return must(this.#host, 'the server of the page');
  }

  /** Between the page and the server. */
  get front(): Front {
    return must(this.#front, 'the proxy before the server');
  }

  override get tab(): Tab {
    return must(this.#tab, 'the tab of the page');
  }

  async startBrowser(): Promise<void> {
    this.#browser = await startBrowser(this.#engine);
  }

  async closeBrowser(): Promise<void> {
    await this.#browser?.close();
  }

  /** `hash`: the screen, such as `#/db/library`. */
  async open(hash = '#/', settings: Settings = ROOT): Promise<void> {
    await this.serve(settings);
    await this.show(hash);
  }

  /** As `open`, with `root` logged in. */
  async openAsAdmin(hash = '#/', settings: Settings = ROOT): Promise<void> {
    await this.serve(settings);
    await this.showToAdmin(hash);
  }

  /** Opens the page of that server, which is closed with it. */
  async openAt(server: Server, hash = '#/'): Promise<void> {
    await this.serveBy(server);
    await this.show(hash);
  }

  /** Starts a server. `show` and `showToAdmin` open its page, which then has what was stored before. */
  async serve(settings: Settings = ROOT): Promise<void> {
    await this.#serveBy(NodeHost.start(settings));
  }

  /** Takes that server, which is closed with the page. */
  async serveBy(server: Server): Promise<void> {
    await this.#serveBy(Promise.resolve(server));
  }

  async show(hash = '#/'): Promise<void> {
    await this.#openTab('/_utils/', hash);
  }

  /** As `show`, with `root` logged in: by a cookie, which takes less time than the form. */
  async showToAdmin(hash = '#/'): Promise<void> {
    await this.#openTab(LOG_IN, hash);
    await this.sees('Log out');
  }

  /** Logs in by the form. */
  async logIn(name = 'root', password = 'rootpw'): Promise<void> {
    await this.goTo('#/login');
    await this.fill('Name', name);
    await this.fill('Password', password);
    await this.press('Log in', 'button[type=submit]');
    await this.sees('Log out');
  }

  /** Sends a request as the admin, past the page. */
  async ask(method: string, path: string, json?: unknown): Promise<unknown> {
    const response = await fetch(`${this.host.baseUrl}/${path}`, {
      method,
      headers: {
        authorization: `Basic ${btoa('root:rootpw')}`,
        ...(json !== undefined && { 'content-type': 'application/json' }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
    });
    return response.json();
  }

  /** Stores a document as that text, past the page. */
  async putText(path: string, text: string): Promise<void> {
    const response = await fetch(`${this.host.baseUrl}/${path}`, {
      method: 'PUT',
      headers: { authorization: `Basic ${btoa('root:rootpw')}`, 'content-type': 'application/json' },
      body: text,
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  }

  /** The text of a response to the admin, without a line break at its end. */
  async text(path: string): Promise<string> {
    const response = await fetch(`${this.host.baseUrl}/${path}`, {
      headers: { authorization: `Basic ${btoa('root:rootpw')}` },
    });
    return (await response.text()).trimEnd();
  }

  /** Closes what was opened, also if only a part of it was; fails at the end if something can't be closed. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = [];
    [this.#host, this.#front, this.#tab] = [undefined, undefined, undefined];
    const failures: unknown[] = [];
    for (const one of opened.toReversed()) await one.close().catch((failure: unknown) => failures.push(failure));
    if (failures.length > 0) throw failures[0];
  }

  async #serveBy(starting: Promise<Server>): Promise<void> {
    const opened = this.#opened;
    const host = await this.#keep(opened, starting);
    this.#host = host;
    // The driver of WebKit evaluates what it is told in the page.
    const starts = Front.start(host.baseUrl, { dropsPolicy: this.#engine === 'webkit' });
    this.#front = await this.#keep(opened, starts);
  }

  async #openTab(path: string, hash: string): Promise<void> {
    const opening = this.browser.open(`${this.front.baseUrl}${path}${hash}`);
    this.#tab = await this.#keep(this.#opened, opening);
  }

  /** A test that ran out of time may still open something while the next attempt runs: that is closed at once. */
  async #keep<T extends Closable>(opened: Closable[], opening: Promise<T>): Promise<T> {
    const one = await opening;
    if (opened !== this.#opened) {
      await one.close();
      throw new Error('the test had ended when this was opened');
    }
    opened.push(one);
    return one;
  }
}
