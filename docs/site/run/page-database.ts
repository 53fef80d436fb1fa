/**
 * The database of one page of the site, in the reader's browser: examples reach it below `/db/`, and below the base that they start
 * Settee with. Nothing else does.
 */

/** What examples use of `settee`. */
interface Settee {
  readonly fetch: typeof fetch;
  close(): void;
}

interface SetteeModule {
  start(options: object): Promise<Settee>;
}

/** What a request was, and what came back. The body has not been read. */
export interface Exchange {
  readonly method: string;
  /** As the example writes it. */
  readonly path: string;
  readonly response: Response;
}

const BASE = '/db/';

/** How long a worker that was told to end may take. */
const MAX_ATTEMPTS = 150;
const PAUSE_MS = 20;

export class PageDatabase {
  readonly #site: string;
  /** Where the database answers, a path. */
  readonly #base: string;
  #settee: Promise<Settee> | undefined;
  /** What addresses of the database begin with. */
  readonly #bases = new Set([location.origin + BASE]);
  #onWait: (() => void) | undefined;
  /** Told of each request to the database, except those of a loop that wait for changes. The function that is set when a request is sent is told of it. */
  onExchange: (exchange: Exchange) => void = () => undefined;

  /** `site` is the path of the site, with a slash at its end; pages with the same name share a database. */
  constructor(site: string, name: string) {
    this.#site = site;
    this.#base = `${site}db/${name}/`;
  }

  /** Like `fetch`: below its bases the database answers, other relative addresses are files of the site. */
  readonly fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const address = typeof input === 'string' ? input : input instanceof URL ? input.href : input.url;
    const url = new URL(address, new URL(this.#site, location.href));
    const base = [...this.#bases].find((one) => url.href.startsWith(one));
    if (base === undefined) return fetch(url, init);
    const path = url.href.slice(base.length);
    const tell = this.#isWait(url) ? undefined : this.onExchange;
    const { fetch: ask } = await this.#open();
    const response = await ask(this.#base + path, init);
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
    tell?.({ method, path: base.replace(location.origin, '') + path, response: response.clone() });
    return response;
  };

  /** Resolves when a loop has had all changes, and waits for more. */
  waits(): Promise<void> {
    return new Promise((resolve) => {
      this.#onWait = resolve;
    });
  }

  #isWait({ searchParams }: URL): boolean {
    if (this.#onWait === undefined || searchParams.get('feed') !== 'longpoll') return false;
    this.#onWait();
    return true;
  }

  /** What an example imports. `start` gives the database of the page with the example's own `fetch`, whatever its other options are. */
  async import(name: string, ask: typeof fetch): Promise<unknown> {
    if (name === 'settee') return { start: async ({ base = BASE } = {}) => this.#asSettee(base, ask) };
    return import(/* @vite-ignore */ `${this.#site}settee/${name.replace('/', '-')}.js`);
  }

  #asSettee(path: string, ask: typeof fetch): object {
    const base = new URL(path, location.origin).href;
    this.#bases.add(base);
    const nothing = () => undefined;
    return { base, fetch: ask, controlled: Promise.resolve(false), addEventListener: nothing, close: nothing };
  }

  /** Deletes all that is stored, also settings and accounts. */
  async empty(): Promise<void> {
    const settee = await this.#open();
    const names: string[] = await (await settee.fetch(`${this.#base}_all_dbs`)).json();
    for (const name of names) await settee.fetch(`${this.#base}${encodeURIComponent(name)}`, { method: 'DELETE' });
    settee.close();
    this.#settee = undefined;
    const prefix = `settee:${location.origin}${this.#base}`;
    // Another tab with the same page keeps using what is there.
    if (!(await isReleased(prefix))) return;
    const all = await indexedDB.databases();
    const ours = all.map(({ name = '' }) => name).filter((name) => name.startsWith(prefix));
    await Promise.all(ours.map(deleteDatabase));
  }

  #open(): Promise<Settee> {
    this.#settee ??= this.#start().catch((error: unknown) => {
      this.#settee = undefined;
      throw error;
    });
    return this.#settee;
  }

  async #start(): Promise<Settee> {
    const module: SetteeModule = await import(/* @vite-ignore */ `${this.#site}settee/settee.js`);
    const worker = `${this.#site}settee/settee-worker.js`;
    return module.start({ base: this.#base, worker, serviceWorker: false, waitFor: 'database' });
  }
}

/** Whether the worker has ended, which takes it a moment, and no other has the storage. It holds a lock as long as it does. */
async function isReleased(prefix: string): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { held = [], pending = [] } = await navigator.locks.query();
    if (![...held, ...pending].some(({ name = '' }) => name.startsWith(prefix))) return true;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return false;
}

function deleteDatabase(name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
    request.onerror = () => reject(request.error);
  });
}
