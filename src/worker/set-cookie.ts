/**
 * Takes in what answers set as cookies, by RFC 6265, 5.2 and 5.3, and the prefixes of names by its successor. Few do, so that browsers load
 * this on first use.
 */
import { parseSetCookie, type SetCookie } from 'cookie';
import { type CookieSite, isLive, pathOf, type StoredCookie } from './cookie-jar.ts';

/**
 * The jar's cookies after an answer to `url` with `lines` as its `Set-Cookie` (several are apart by newlines): the same array where
 * nothing changed. `now` in milliseconds since the epoch.
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

export type TakeCookies = typeof takeCookies;

function isTakenFrom(site: CookieSite, set: SetCookie): boolean {
  const { name, value = '', domain, secure = false } = set;
  return (name !== '' || value !== '') && isOf(site, domain) && (!secure || site.isSecure) && isAsNamed(set);
}

/** What the prefix of a name promises of the cookie (RFC 6265bis, 4.1.3). */
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

/** `Max-Age` counts before `Expires` (RFC 6265, 5.3 step 3). */
function expiryOf({ maxAge, expires }: SetCookie, now: number): number | null {
  if (maxAge !== undefined) return maxAge <= 0 ? 0 : now + maxAge * 1000;
  return expires === undefined ? null : expires.getTime();
}

/** The folder of the request's path (RFC 6265, 5.1.4). */
function defaultPath(url: string): string {
  const path = pathOf(url);
  const lastSlash = path.lastIndexOf('/');
  return lastSlash <= 0 ? '/' : path.slice(0, lastSlash);
}

function asItIs(value: string): string {
  return value;
}
