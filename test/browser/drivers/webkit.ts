import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { must } from '../../../src/base/shared/assert.ts';
import { patient } from '../../support/patience.ts';
import type { Abilities, Browser, LaunchOptions, SavedFile, Tab } from './browser.ts';
import { findWebKit } from './find-browser.ts';
import { burnProcessor, busiestProcess, processesBelow } from './processes.ts';
import { Turns } from './turns.ts';
import { WebDriver } from './webdriver.ts';

const WEB_PROCESS = 'WebKitWebProcess';

export async function startWebKit(_options: LaunchOptions = {}): Promise<Browser> {
  const programs = findWebKit();
  const processes: ChildProcess[] = [];
  try {
    const display =
      programs.display === undefined ? process.env['DISPLAY'] : await startDisplay(programs.display, processes);
    const port = await freePort();
    const service = spawn(programs.driver, [`--port=${port}`, '--host=127.0.0.1'], {
      stdio: 'ignore',
      // Its sandbox can't be set up by root.
      env: { ...process.env, DISPLAY: display, WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: '1' },
    });
    processes.push(service);
    await listens(port, service);
    const driver = await WebDriver.start(`http://127.0.0.1:${port}`, {
      browserName: 'MiniBrowser',
      'webkitgtk:browserOptions': { binary: programs.browser, args: ['--automation'] },
    });
    return new WebKit(driver, await driver.window(), must(service.pid, 'driver process'), processes);
  } catch (error) {
    for (const each of processes) each.kill();
    throw error;
  }
}

/** A display that nobody sees. Resolves to its name once it takes windows. */
async function startDisplay(program: string, processes: ChildProcess[]): Promise<string> {
  // With -displayfd it takes a free number by itself, and writes it when it is ready.
  const server = spawn(program, ['-displayfd', '1', '-screen', '0', '1280x1024x24', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  processes.push(server);
  const [number] = await once(server.stdout, 'data');
  return `:${String(number).trim()}`;
}

/** Resolves when the driver can be spoken to: it says by no other sign that it is ready. */
async function listens(port: number, service: ChildProcess): Promise<void> {
  const giveUpAt = Date.now() + patient.timeout;
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch (cause) {
      const hasEnded = service.exitCode !== null || service.signalCode !== null;
      if (hasEnded || Date.now() > giveUpAt) throw new Error('WebKitWebDriver does not listen', { cause });
      await pause(50);
    } finally {
      socket.destroy();
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('the loopback gives no port');
  return address.port;
}

/** Over WebKitWebDriver, which runs one command at a time for all windows. */
class WebKit implements Browser {
  readonly engine = 'webkit';
  readonly can: Abilities = {
    freeze: 'a transaction that a frozen WebKit process has open holds up everybody else',
    kill: 'WebKitWebDriver ends the session when a page crashes',
    stopServiceWorkers: 'WebKitWebDriver has no command for it',
    limitStorage: 'WebKitGTK has no lever for it',
    setOffline: 'WebKitWebDriver has no command for it',
    dispatchSync: 'WebKit has no background synchronization',
    backForwardCache: true,
    hardReload: 'WebKitWebDriver has no command for it',
    download: 'WebKitWebDriver does not tell of what is saved',
  };
  readonly messages: string[] = [];
  readonly #driver: WebDriver;
  /** The window that comes with the session. It stays empty: without a window the session would end. */
  readonly #home: string;
  readonly #root: number;
  readonly #processes: readonly ChildProcess[];
  readonly #turns = new Turns();

  constructor(driver: WebDriver, home: string, root: number, processes: readonly ChildProcess[]) {
    this.#driver = driver;
    this.#home = home;
    this.#root = root;
    this.#processes = processes;
  }

  open(url: string): Promise<Tab> {
    return this.#turns.take(async () => {
      await this.#driver.switchTo(this.#home);
      const handle = await this.#driver.newTab();
      await this.#driver.switchTo(handle);
      await goTo(this.#driver, url).catch(async (failure: unknown) => {
        await this.#driver.closeWindow();
        throw failure;
      });
      return new WebKitTab(this.#driver, handle, this.#root, this.#turns);
    });
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
    return processesBelow(this.#root, WEB_PROCESS);
  }

  async close(): Promise<void> {
    await this.#turns.take(() => this.#driver.quit()).catch(() => undefined);
    for (const each of this.#processes.toReversed()) each.kill();
  }
}

class WebKitTab implements Tab {
  readonly #driver: WebDriver;
  readonly #handle: string;
  readonly #root: number;
  readonly #turns: Turns;

  constructor(driver: WebDriver, handle: string, root: number, turns: Turns) {
    this.#driver = driver;
    this.#handle = handle;
    this.#root = root;
    this.#turns = turns;
  }

  /** Begins the work in one command and asks for its result in others, so that other tabs get their turn in between. */
  async evaluate(expression: string): Promise<unknown> {
    const key = await this.#inTab(() => this.#driver.execute(beginning, expression));
    for (;;) {
      const outcome = await this.#inTab(() => this.#driver.executeAsync(asking, key));
      if (typeof outcome !== 'string') continue;
      const parsed: { value?: unknown; error?: string } = JSON.parse(outcome);
      if (parsed.error !== undefined) throw new Error(parsed.error);
      return parsed.value;
    }
  }

  download(): Promise<SavedFile> {
    throw new Error('WebKitWebDriver does not tell of what is saved');
  }

  navigate(url: string): Promise<void> {
    return this.#inTab(() => goTo(this.#driver, url));
  }

  reload(how?: 'hard'): Promise<void> {
    if (how === 'hard') throw new Error('no command for a hard reload');
    return this.#inTab(() => leaveBy(this.#driver, 'a reload', () => this.#driver.refresh()));
  }

  back(): Promise<void> {
    return this.#inTab(() => leaveBy(this.#driver, 'a step back', () => this.#driver.back()));
  }

  close(): Promise<void> {
    return this.#inTab(() => this.#driver.closeWindow());
  }

  process(): Promise<number> {
    return busiestProcess(this.#root, WEB_PROCESS, () =>
      this.#inTab(() => this.#driver.execute(`return ${burnProcessor}`)),
    );
  }

  #inTab<T>(command: () => Promise<T>): Promise<T> {
    return this.#turns.take(async () => {
      await this.#driver.switchTo(this.#handle);
      return command();
    });
  }
}

/** In a new window the driver sometimes takes the load of the empty page for the one that it waits for. */
function goTo(driver: WebDriver, url: string): Promise<void> {
  return leaveBy(driver, url, () => driver.goTo(url));
}

/**
 * Resolves when another page has come in place of the one that is there, with all its scripts run. The driver's own command
 * sometimes returns earlier. A page may come back from the back/forward cache with its mark, so each mark is another.
 */
async function leaveBy(driver: WebDriver, what: string, command: () => Promise<void>): Promise<void> {
  const mark = Math.random();
  await driver.execute('window.driverLeaves = arguments[0]', mark);
  await command();
  const hasCome = `return document.readyState === 'complete' && location.href !== 'about:blank'
    && window.driverLeaves !== arguments[0]`;
  for (const giveUpAt = Date.now() + patient.timeout; Date.now() < giveUpAt; await pause(20)) {
    if ((await driver.execute(hasCome, mark)) === true) return;
  }
  throw new Error(`${what} should have brought a page`);
}

const beginning = `
  const store = (window.driverOutcomes ??= new Map());
  const key = Math.random();
  const told = (outcome) => JSON.stringify(outcome);
  store.set(key, (async () => (0, eval)(arguments[0]))().then(
    (value) => told({ value }),
    (error) => told({ error: String(error && error.stack ? error + '\\n' + error.stack : error) }),
  ));
  return key;`;

/** Waits a moment for the outcome, so that quick work costs one command more and slow work not many. */
const asking = `
  const [key, done] = arguments;
  const outcome = window.driverOutcomes.get(key);
  const pause = new Promise((resolve) => setTimeout(resolve, 30, null));
  Promise.race([outcome, pause]).then((settled) => {
    if (settled !== null) window.driverOutcomes.delete(key);
    done(settled);
  });`;
