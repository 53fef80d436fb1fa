/** The network of a device: a browser's `fetch`, with its cookies, that can be cut off. */

import type { Clock } from '../../../src/base/shared/clock.ts';
import { CookieJar } from '../../../src/browser/cookie-jar.ts';

/** The server's address for all devices, wherever it listens. */
export const SERVER = 'http://notes.example';

const FEED = /[?&]feed=/;

export class DeviceNetwork {
  isOnline = true;
  /** Called with the method and the path of each request, before it is sent. */
  onRequest: ((request: string) => void) | undefined;
  readonly #address: () => string | undefined;
  readonly #cookies: CookieJar;
  #connections = new AbortController();
  /** Requests that are not answered yet, but for those of feeds, which may stay so for hours. */
  readonly #underWay = new Set<Promise<unknown>>();

  /** `address`: where the server listens; undefined while it doesn't. */
  constructor(address: () => string | undefined, clock: Clock) {
    this.#address = address;
    this.#cookies = new CookieJar({ clock, base: `${SERVER}/`, onChange: () => undefined });
  }

  /** Breaks all connections off. */
  cut(): void {
    this.isOnline = false;
    this.#connections.abort(new TypeError('the network has gone'));
    this.#connections = new AbortController();
  }

  /** Resolves when all requests that are under way now are answered, or have failed. */
  async answered(): Promise<void> {
    await Promise.allSettled([...this.#underWay]);
  }

  readonly fetch: typeof globalThis.fetch = (input, init = {}) => {
    const answering = this.#send(input, init);
    if (FEED.test(String(input))) return answering;
    this.#underWay.add(answering);
    const end = () => void this.#underWay.delete(answering);
    answering.then(end, end);
    return answering;
  };

  readonly #send: typeof globalThis.fetch = async (input, init = {}) => {
    const url = String(input);
    const address = this.#address();
    const { pathname } = new URL(url);
    this.onRequest?.(`${init.method} ${pathname}`);
    if (!this.isOnline || address === undefined) throw new TypeError('fetch failed');
    const isWithCookies = init.credentials === 'include';
    const cookie = isWithCookies ? this.#cookies.header(url) : undefined;
    const signals = [this.#connections.signal, ...(init.signal ? [init.signal] : [])];
    const response = await globalThis.fetch(url.replace(SERVER, address), {
      ...init,
      headers: { ...Object(init.headers), ...(cookie === undefined ? {} : { cookie }) },
      signal: AbortSignal.any(signals),
    });
    const cookies = response.headers.getSetCookie();
    if (isWithCookies && cookies.length > 0) this.#cookies.take(cookies.join('\n'), url);
    return response;
  };
}
