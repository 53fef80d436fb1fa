/** A cookie as the jar keeps it, and what decides whether a request gets it. */

export interface StoredCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  readonly isSecure: boolean;
  /** Milliseconds since the epoch; null for a cookie that lasts as long as the session. */
  readonly expires: number | null;
  /** Its rank by age among all cookies ever set; kept when its value changes (RFC 6265, 5.3 step 11.3). */
  readonly order: number;
}

export function isLive({ expires }: { readonly expires: number | null }, now: number): boolean {
  return expires === null || expires > now;
}

/** RFC 6265, 5.1.4. */
export function matchesPath(cookiePath: string, requestPath: string): boolean {
  if (!requestPath.startsWith(cookiePath)) return false;
  return requestPath.length === cookiePath.length || cookiePath.endsWith('/') || requestPath[cookiePath.length] === '/';
}

/** The path of an address as the client wrote it: no URL object, which would normalize it. */
export function pathOf(url: string): string {
  const path = url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  return path === '' ? '/' : path;
}
