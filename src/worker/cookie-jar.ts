import type { Clock } from '../shared/clock.ts';
import { type MaybePromise, whenReady } from '../shared/maybe-promise.ts';
import type { Handle, PlainHeaders, PlainRequest, PlainResponse } from '../shared/message.ts';
import type { TakeCookies } from './set-cookie.ts';

/** Asks, with the value `omit`, for a request without cookies, as `credentials: 'omit'` does with `fetch`. */
export const CREDENTIALS_HEADER = 'settee-credentials';

export interface StoredCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly isSecure: boolean;
  /** Milliseconds since the epoch; null for a cookie that lasts as long as the session. */
  readonly expires: number | null;
  /** Its place among all that were ever set; kept when its value changes (RFC 6265, 5.3 step 11.3). */
  readonly order: number;
}

/** What cookies belong to. */
export interface CookieSite {
  readonly host: string;
  /** Whether the way to it is one for secure cookies. */
  readonly isSecure: boolean;
}

export interface CookieJarOptions {
  readonly clock: Clock;
  /** Base of the instance: the host that the cookies belong to. */
  readonly base: string;
  /** Gives what takes in cookies; asked when there are some. */
  taking(): MaybePromise<TakeCookies>;
  /** Told of each change, with all that the jar holds. */
  onChange(jar: string): void;
}

/**
 * The session's cookies. A service worker sees no `Cookie` and can set none, so the owner of the storage keeps them for the pages of the
 * instance as a browser would (RFC 6265, 5.4; what it takes in: `set-cookie.ts`): all of them are `HttpOnly`, and of one host.
 */
export class CookieJar {
  readonly #options: CookieJarOptions;
  readonly #site: CookieSite;
  #cookies: readonly StoredCookie[] = [];
  /** How often the jar was changed since it was new. */
  #version = 0;

  constructor(options: CookieJarOptions) {
    this.#options = options;
    const { hostname, protocol } = new URL(options.base);
    const isSecure = protocol === 'https:' || hostname === 'localhost' || hostname === '127.0.0.1';
    this.#site = { host: hostname, isSecure };
  }

  /** Puts the jar before `handle`: its cookies go with each request, and those of the answer come in and are not shown. */
  around(handle: Handle): Handle {
    return (request) => {
      const omits = request.headers[CREDENTIALS_HEADER] === 'omit';
      return whenReady(handle(this.#withCookies(request, omits)), (response) => {
        const line = response.headers['set-cookie'];
        if (line === undefined) return response;
        return whenReady(omits ? undefined : this.take(line, request.url), () => withoutSetCookie(response));
      });
    };
  }

  /** The jar's content, to be given to `load` of another; empty where there was never a cookie. */
  get text(): string {
    return this.#version === 0 ? '' : JSON.stringify({ version: this.#version, cookies: this.#cookies });
  }

  /** Takes over what another jar of the instance holds, unless this one has seen more changes. */
  load(text: string): void {
    const loaded = parseJar(text);
    if (loaded === undefined || loaded.version <= this.#version) return;
    this.#version = loaded.version;
    this.#cookies = loaded.cookies;
  }

  /** The value of the `Cookie` header for a request to `url`; undefined where no cookie applies. */
  header(url: string): string | undefined {
    if (this.#cookies.length === 0) return undefined;
    const now = this.#options.clock.now();
    const path = pathOf(url);
    const sent = this.#cookies.filter((cookie) => isLive(cookie, now) && this.#applies(cookie, path));
    if (sent.length === 0) return undefined;
    sent.sort((a, b) => b.path.length - a.path.length || a.order - b.order);
    return sent.map(({ name, value }) => (name === '' ? value : `${name}=${value}`)).join('; ');
  }

  /** Takes in the value of a `Set-Cookie` header; several are apart by newlines. */
  take(lines: string, url: string): MaybePromise<void> {
    return whenReady(this.#options.taking(), (takeCookies) => {
      const now = this.#options.clock.now();
      const cookies = takeCookies(this.#cookies, lines, { url, site: this.#site, now });
      if (this.#cookies === cookies) return;
      this.#cookies = cookies;
      this.#version += 1;
      this.#options.onChange(this.text);
    });
  }

  #withCookies(request: PlainRequest, omits: boolean): PlainRequest {
    const { headers } = request;
    const cookie = omits ? undefined : this.header(request.url);
    const isPlain = headers['cookie'] === undefined && headers[CREDENTIALS_HEADER] === undefined;
    if (cookie === undefined && isPlain) return request;
    return { ...request, headers: withCookie(headers, cookie) };
  }

  #applies({ path, isSecure }: StoredCookie, requestPath: string): boolean {
    return (!isSecure || this.#site.isSecure) && matchesPath(path, requestPath);
  }
}

function withoutSetCookie(response: PlainResponse): PlainResponse {
  const { 'set-cookie': _taken, ...headers } = response.headers;
  return { ...response, headers };
}

/** A page can't set `Cookie` itself, no more than with `fetch`. */
function withCookie(headers: PlainHeaders, cookie: string | undefined): PlainHeaders {
  const { cookie: _own, [CREDENTIALS_HEADER]: _asked, ...others } = headers;
  return cookie === undefined ? others : { ...others, cookie };
}

export function isLive({ expires }: { readonly expires: number | null }, now: number): boolean {
  return expires === null || expires > now;
}

/** RFC 6265, 5.1.4. */
function matchesPath(cookiePath: string, requestPath: string): boolean {
  if (!requestPath.startsWith(cookiePath)) return false;
  return requestPath.length === cookiePath.length || cookiePath.endsWith('/') || requestPath[cookiePath.length] === '/';
}

/** As the client wrote it: no URL object, which would normalise it. */
export function pathOf(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  return path === '' ? '/' : path;
}

function parseJar(text: string): { readonly version: number; readonly cookies: readonly StoredCookie[] } | undefined {
  const { version, cookies }: Partial<Record<string, unknown>> = Object(JSON.parse(text));
  if (typeof version !== 'number' || !Array.isArray(cookies)) return undefined;
  return { version, cookies: cookies.filter(isStoredCookie) };
}

/** Only jars make these, and nothing else that they hold has an order. */
function isStoredCookie(cookie: unknown): cookie is StoredCookie {
  return 'order' in Object(cookie);
}
