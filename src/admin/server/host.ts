/** What the page's server runs on. */
import { base } from './client.ts';

/**
 * Whether the server is the database in this browser: only Settee's service worker answers this address, which is its own. Where no service
 * worker is in between, nothing is requested.
 */
export async function isInThisBrowser(): Promise<boolean> {
  if (!('serviceWorker' in navigator) || navigator.serviceWorker.controller === null) return false;
  const { status } = await fetch(new URL('_settee/alive', base));
  return status === 204;
}
