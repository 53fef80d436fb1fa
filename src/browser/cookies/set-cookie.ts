/** How the `Set-Cookie` header of a response changes the stored cookies (RFC 6265, 5.2 and 5.3; prefixes of names by its successor). */
import { parseSetCookie, type SetCookie } from 'cookie';
import { isLive, pathOf, type StoredCookie } from './stored-cookie.ts';

/** The host that cookies belong to. */
export interface CookieSite {
  readonly host: string;
  /** Whether requests to it are safe from eavesdroppers, so that it may have secure cookies. */
  readonly isSecure: boolean;
}

/**
 * Returns the cookies as they are after a response to `url` whose `Set-Cookie` header is `lines`, in which several cookies are separated by
 * newlines. Returns the same array if nothing changed. `now` is in milliseconds since the epoch.
 */
export function takeCookies(
  cookies: readonly StoredCookie[],
  lines: string,
  { url, site, now }: { readonly url: string; readonly site: CookieSite; readonly now: number },
): readonly StoredCookie[] {
  let taken = cookies;
  for (const line of lines.split('\n')) {
    const set = parseSetCookie(line, { decode: asItIs });
    if (isTakenFrom(site, set)) taken = withCookie(taken, set, url, now);
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

function withCookie(
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
