/**
 * Serves the administration page below the base of a service worker, online and offline. `settee-sw-utils.js` contains this code with the page's
 * HTML and the names of its other files; apps without the page never load that script.
 *
 * The page opens only once all files of its version are in a cache of their own. So a page that is open finds each of its parts, whatever becomes
 * of the network, and never one of another version: after an update of the app, the files of a page that is still open stay.
 */
import { pageHeaders, pageType, REVALIDATED } from '../../http/server/administration/page-answer.ts';
import { serviceUnavailable } from '../bridge/service-unavailable.ts';
import type { BuiltPage, PageOptions, PageService, PageText } from './contract.ts';
import { pageCaches } from './page-cache.ts';

/** What it uses of a service worker's `self`. */
export interface PageScope {
  readonly caches: CacheStorage;
  readonly clients: Pick<Clients, 'matchAll'>;
  fetch(address: string): Promise<Response>;
}

/** The last entry of a cache that has all files. */
const COMPLETE = 'index.html';

export class AdministrationPage implements PageService {
  readonly #built: BuiltPage;
  readonly #scope: PageScope;
  /** The page's address, with a slash at its end. */
  readonly #root: string;
  readonly #script: URL;
  readonly #prefix: string;
  #keeping: Promise<void> | undefined;

  /** Throws an Error if the base is on another origin: no service worker answers there when somebody opens an address. */
  constructor(built: BuiltPage, scope: PageScope, { base, script }: PageOptions) {
    if (new URL(base).origin !== script.origin) {
      throw new Error(
        `The administration page can't be served below ${base}: it needs a base on the app's own origin.`,
      );
    }
    this.#built = built;
    this.#scope = scope;
    this.#root = `${base}_utils/`;
    this.#script = script;
    this.#prefix = pageCaches(base);
  }

  respond(event: FetchEvent): Promise<Response> | undefined {
    const { method, url } = event.request;
    const [address = ''] = url.split(/[?#]/, 1);
    if ((method !== 'GET' && method !== 'HEAD') || !`${address}/`.startsWith(this.#root)) return undefined;
    if (address.length < this.#root.length) {
      return Promise.resolve(new Response(null, { status: 301, headers: { location: this.#root } }));
    }
    const name = address.slice(this.#root.length) || 'index.html';
    return name === 'settings.json' ? undefined : this.#answer(event, name);
  }

  async #answer(event: FetchEvent, name: string): Promise<Response> {
    const { request } = event;
    try {
      const html = ownEntry(this.#built.pages, name);
      const found = html === undefined ? await this.#asset(name) : await this.#page(event, name, html);
      return found === undefined ? missing(request) : inForm(request, found);
    } catch (failure) {
      return unavailable(request, failure);
    }
  }

  async #page(event: FetchEvent, name: string, { text, tag }: PageText): Promise<Response> {
    await this.#keep();
    event.waitUntil(this.#dropOthers(event.resultingClientId).catch(() => undefined));
    return toResponse(name, text, tag, false);
  }

  /** Undefined if no version of the page that is kept has such a file. */
  async #asset(name: string): Promise<Response | undefined> {
    const kept = await this.#match(this.#root + name);
    return kept ?? (ownEntry(this.#built.assets, name) === undefined ? undefined : this.#load(name));
  }

  #keep(): Promise<void> {
    this.#keeping ??= this.#keepAll().finally(() => {
      this.#keeping = undefined;
    });
    return this.#keeping;
  }

  async #keepAll(): Promise<void> {
    const cache = await this.#scope.caches.open(this.#prefix + this.#built.version).catch(() => undefined);
    if (await cache?.match(this.#root + COMPLETE)) return;
    const files = await Promise.all(
      Object.keys(this.#built.assets).map(async (name) => ({ name, response: await this.#load(name) })),
    );
    const store = async () => {
      await Promise.all(files.map(({ name, response }) => cache?.put(this.#root + name, response)));
      await cache?.put(this.#root + COMPLETE, new Response());
    };
    // Where storage is full the page is needed most: its files then come from the network, each when it is used.
    await store().catch(() => undefined);
  }

  /**
   * From a cache, which may be the app's own or that of another version, or from the network. Fails if it is not there; a server may also return its
   * page for unknown addresses.
   */
  async #load(name: string): Promise<Response> {
    const kept = await this.#match(this.#root + name);
    if (kept !== undefined) return kept;
    const { href } = new URL(name, this.#script);
    const cached = await this.#match(href);
    const found = cached !== undefined && isFile(cached) ? cached : await this.#scope.fetch(href);
    if (!isFile(found)) throw new Error(`${href} answers ${found.status} ${found.headers.get('content-type')}`);
    return toResponse(name, await found.arrayBuffer(), this.#built.assets[name] ?? '', true);
  }

  /** Undefined also where the browser refuses to open its caches. */
  async #match(address: string): Promise<Response | undefined> {
    return this.#scope.caches.match(address).catch(() => undefined);
  }

  /** Frees the space of other versions, unless one of them may still be open. `opening`: the id of the page that is just being opened. */
  async #dropOthers(opening: string): Promise<void> {
    const windows = await this.#scope.clients.matchAll({ type: 'window', includeUncontrolled: true });
    if (windows.some(({ id, url }) => id !== opening && url.startsWith(this.#root))) return;
    const names = await this.#scope.caches.keys();
    const others = names.filter((name) => name.startsWith(this.#prefix) && name !== this.#prefix + this.#built.version);
    await Promise.all(others.map((name) => this.#scope.caches.delete(name)));
  }
}

function ownEntry<T>(record: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Without the address that it came from: the page's scripts import each other relative to where the page asked for them. */
function toResponse(name: string, body: string | ArrayBuffer, tag: string, isLasting: boolean): Response {
  return new Response(body, { headers: pageHeaders({ type: pageType(name) ?? '', tag: `"${tag}"`, isLasting }) });
}

function isFile({ ok, headers }: Response): boolean {
  return ok && headers.get('content-type')?.includes('html') !== true;
}

/** The response in the form that the request wants: without a body for HEAD, and if the client has it already. */
function inForm({ method, headers }: Request, found: Response): Response {
  const tags = headers.get('if-none-match')?.split(',') ?? [];
  const isKnown = tags.some((tag) => tag.trim() === found.headers.get('etag'));
  if (!isKnown && method === 'GET') return found;
  return new Response(null, { status: isKnown ? 304 : 200, headers: found.headers });
}

function missing({ method }: Request): Response {
  const headers = { 'content-type': 'application/json', 'cache-control': REVALIDATED };
  const body = method === 'HEAD' ? null : '{"error":"not_found","reason":"missing"}\n';
  return new Response(body, { status: 404, headers });
}

/** Somebody who opened the page's address reads words, and programs JSON. */
function unavailable({ method, mode }: Request, failure: unknown): Response {
  const { status, headers, body } = serviceUnavailable(
    `The files of the administration page can't be loaded: ${failure}. Open it once with a network; from then on it needs none. If the app was updated, reload its open pages first.`,
    method,
  );
  if (mode !== 'navigate') return new Response(body, { status, headers: Object.entries(headers) });
  return new Response(inWords(`${failure}`), {
    status,
    headers: { ...headers, 'content-type': 'text/html; charset=utf-8' },
  });
}

function inWords(failure: string): string {
  const shown = failure.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>The administration page is not there yet</title>
<h1>The administration page is not there yet</h1>
<p>It needs a network the first time: open it once with one, and from then on it needs none. If the app was updated, reload its open pages first.</p>
<p>The database itself works. <a href="">Try again</a></p>
<p><small>${shown}</small></p>
`;
}
