/** How every host answers with a file of the administration page (docs/http/server.md#administration-page). */
import type { PageFile } from './administration-service.ts';

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The page runs its own scripts only, and shows only what this server sends. No other page may show it in a frame. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const FOREVER = 'public, max-age=31536000, immutable';

/** For what may change while its address stays. */
export const REVALIDATED = 'no-cache';
/** Of everything below the page's address. */
export const HIDDEN = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

/** Undefined for a name that no file of the page has. */
export function pageType(name: string): string | undefined {
  return TYPES[name.slice(name.lastIndexOf('.') + 1)];
}

export function pageHeaders({ type, tag, isLasting }: Omit<PageFile, 'body'>): Record<string, string> {
  return {
    'content-type': type,
    'cache-control': isLasting ? FOREVER : REVALIDATED,
    'content-security-policy': POLICY,
    ...HIDDEN,
    etag: tag,
  };
}
