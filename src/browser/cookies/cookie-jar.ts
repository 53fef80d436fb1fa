import type { Clock } from '../../base/shared/clock.ts';
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { Handle, PlainHeaders, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import { type CookieSite, takeCookies } from './set-cookie.ts';
import { isLive, matchesPath, pathOf, type StoredCookie } from './stored-cookie.ts';

/** Asks, with the value `omit`, for a request without cookies, as `credentials: 'omit'` does with `fetch`. */
const CREDENTIALS_HEADER = 'settee-credentials';

export interface CookieJarOptions {
  readonly clock: Clock;
  /** Base of the instance: the host that the cookies belong to. */
  readonly base: string;
  /** Called at each change, with the whole content of the jar. */
  onChange(jar: string): void;
}

/**
 * The session's cookies. A service worker sees no `Cookie` header and can set no cookies, so the owner of the storage keeps them for the
 * pages of the instance as a browser would: it stores them by RFC 6265, 5.3 (`set-cookie.ts`) and sends them by 5.4. All of them are
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
