import { parseSetCookie, type SetCookie } from 'cookie';
import type { Clock } from '../base/shared/clock.ts';
import { whenReady } from '../base/shared/maybe-promise.ts';
import type { Handle, PlainHeaders, PlainRequest, PlainResponse } from '../base/shared/message.ts';

/** Asks, with the value `omit`, for a request without cookies, as `credentials: 'omit'` does with `fetch`. */
const CREDENTIALS_HEADER = 'settee-credentials';

export interface CookieJarOptions {
  readonly clock: Clock;
  /** Base of the instance: the host that the cookies belong to. */
  readonly base: string;
  /** Called at each change, with the whole content of the jar. */
  onChange(jar: string): void;
}

/** A cookie as the jar keeps it. */
interface StoredCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly isSecure: boolean;
  /** Milliseconds since the epoch; null for a cookie that lasts as long as the session. */
  readonly expires: number | null;
  /** Its rank by age among all cookies ever set; kept when its value changes (RFC 6265, 5.3 step 11.3). */
  readonly order: number;
}

/** The host that cookies belong to. */
interface CookieSite {
  readonly host: string;
  /** Whether requests to it are safe from eavesdroppers, so that it may have secure cookies. */
  readonly isSecure: boolean;
}

/**
 * The session's cookies. A service worker sees no `Cookie` header and can set no cookies, so the owner of the storage keeps them for the
 * pages of the instance as a browser would: it stores them by RFC 6265, 5.3 and sends them by 5.4. All of them are
 * `HttpOnly` and belong to one host.
 */
export class CookieJar {
  readonly #options: CookieJarOptions;
  readonly #site: CookieSite;
  #cookies: readonly StoredCookie[] = [];
  /** How often the jar was changed since it was created. */
  #version = 0;

  constructor(options: CookieJarOptions) {
    this.#options = options;
    const { hostname, protocol } = new URL(options.base);
    const isSecure = protocol === 'https:' || hostname === 'localhost' || hostname === '127.0.0.1';
    this.#site = { host: hostname, isSecure };
  }

  /** Wraps `handle`: each request gets the jar's cookies, and the cookies that its response sets are stored and not shown to the caller. */
  around(handle: Handle): Handle {
    return (request) => {
      const omits = request.headers[CREDENTIALS_HEADER] === 'omit';
      return whenReady(handle(this.#withCookies(request, omits)), (response) => {
        const line = response.headers['set-cookie'];
        if (line === undefined) return response;
        if (!omits) this.take(line, request.url);
        return withoutSetCookie(response);
      });
    };
  }

  /** The jar's content, for `load` of another one; empty if there was never a cookie. */
  get text(): string {
    return this.#version === 0 ? '' : JSON.stringify({ version: this.#version, cookies: this.#cookies });
  }

  /** Takes over the content of another jar of the instance, unless this one has seen more changes. */
  load(text: string): void {
    const loaded = parseJar(text);
    if (loaded === undefined || loaded.version <= this.#version) return;
    this.#version = loaded.version;
    this.#cookies = loaded.cookies;
  }

  /** Returns the value of the `Cookie` header for a request to `url`; undefined if no cookie applies. */
  header(url: string): string | undefined {
    if (this.#cookies.length === 0) return undefined;
    const now = this.#options.clock.now();
    const path = pathOf(url);
    const sent = this.#cookies.filter((cookie) => isLive(cookie, now) && this.#applies(cookie, path));
    if (sent.length === 0) return undefined;
    sent.sort((a, b) => b.path.length - a.path.length || a.order - b.order);
    return sent.map(({ name, value }) => (name === '' ? value : `${name}=${value}`)).join('; ');
  }

  /** Stores the cookies of a `Set-Cookie` header, in which newlines separate several cookies. `url` is that of the request. */
  take(lines: string, url: string): void {
    const now = this.#options.clock.now();
    const cookies = takeCookies(this.#cookies, lines, { url, site: this.#site, now });
    if (this.#cookies === cookies) return;
    this.#cookies = cookies;
    this.#version += 1;
    this.#options.onChange(this.text);
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

/** A page can't set `Cookie` itself, as it can't with `fetch`. */
function withCookie(headers: PlainHeaders, cookie: string | undefined): PlainHeaders {
  const { cookie: _own, [CREDENTIALS_HEADER]: _asked, ...others } = headers;
  return cookie === undefined ? others : { ...others, cookie };
}

function parseJar(text: string): { readonly version: number; readonly cookies: readonly StoredCookie[] } | undefined {
  const { version, cookies }: Partial<Record<string, unknown>> = Object(JSON.parse(text));
  if (typeof version !== 'number' || !Array.isArray(cookies)) return undefined;
  return { version, cookies: cookies.filter(isStoredCookie) };
}

/** Only jars create these, and no other member has an `order`. */
function isStoredCookie(cookie: unknown): cookie is StoredCookie {
  return 'order' in Object(cookie);
}

function isLive({ expires }: { readonly expires: number | null }, now: number): boolean {
  return expires === null || expires > now;
}

/** RFC 6265, 5.1.4. */
function matchesPath(cookiePath: string, requestPath: string): boolean {
  if (!requestPath.startsWith(cookiePath)) return false;
  return requestPath.length === cookiePath.length || cookiePath.endsWith('/') || requestPath[cookiePath.length] === '/';
}

/** The path of an address as the client wrote it: no URL object, which would normalize it. */
function pathOf(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  return path === '' ? '/' : path;
}

/**
 * Returns the cookies as they are after a response to `url` whose `Set-Cookie` header is `lines`, in which newlines separate several cookies
 * (RFC 6265, 5.2 and 5.3; prefixes of names by its successor). Returns the same array if nothing changed. `now` is in milliseconds since the epoch.
 */
function takeCookies(
  cookies: readonly StoredCookie[],
  lines: string,
  { url, site, now }: { readonly url: string; readonly site: CookieSite; readonly now: number },
): readonly StoredCookie[] {
  let taken = cookies;
  for (const line of lines.split('\n')) {
    const set = parseSetCookie(line, { decode: asItIs });
    if (isTakenFrom(site, set)) taken = replaceCookie(taken, set, url, now);
  }
  return taken;
}

function isTakenFrom(site: CookieSite, set: SetCookie): boolean {
  const { name, value = '', domain, secure = false } = set;
  return (name !== '' || value !== '') && isOf(site, domain) && (!secure || site.isSecure) && isAsNamed(set);
}

/** Whether the cookie keeps the promise that the prefix of its name makes (RFC 6265bis, 4.1.3). */
function isAsNamed({ name, path, domain, secure = false }: SetCookie): boolean {
  if (/^__secure-/i.test(name)) return secure;
  return !/^__host-/i.test(name) || (secure && path === '/' && domain === undefined);
}

function isOf({ host }: CookieSite, domain: string | undefined): boolean {
  const name = domain?.replace(/^\./, '').toLowerCase();
  return name === undefined || name === '' || name === host || host.endsWith(`.${name}`);
}

function replaceCookie(
  cookies: readonly StoredCookie[],
  set: SetCookie,
  url: string,
  now: number,
): readonly StoredCookie[] {
  const { name, value = '', secure: isSecure = false } = set;
  const path = set.path?.startsWith('/') === true ? set.path : defaultPath(url);
  const isSame = (cookie: StoredCookie): boolean => cookie.name === name && cookie.path === path;
  const replaced = cookies.find(isSame);
  const order = replaced?.order ?? 1 + Math.max(0, ...cookies.map((cookie) => cookie.order));
  const cookie = { name, value, path, isSecure, expires: expiryOf(set, now), order };
  if (replaced === undefined && !isLive(cookie, now)) return cookies;
  const others = cookies.filter((other) => !isSame(other) && isLive(other, now));
  return isLive(cookie, now) ? [...others, cookie] : others;
}

/** `Max-Age` takes precedence over `Expires` (RFC 6265, 5.3 step 3). */
function expiryOf({ maxAge, expires }: SetCookie, now: number): number | null {
  if (maxAge !== undefined) return maxAge <= 0 ? 0 : now + maxAge * 1000;
  return expires === undefined ? null : expires.getTime();
}

/** The request's path up to its last slash (RFC 6265, 5.1.4). */
function defaultPath(url: string): string {
  const path = pathOf(url);
  const lastSlash = path.lastIndexOf('/');
  return lastSlash <= 0 ? '/' : path.slice(0, lastSlash);
}

function asItIs(value: string): string {
  return value;
}
