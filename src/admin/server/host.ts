/** What the page's server runs on. */
import { signal } from '@preact/signals';
import { base } from './client.ts';
import { isBrowser } from './where.ts';

/** The address of the app whose database this is; undefined for a server, which belongs to no app. */
export const appAddress = signal<string | undefined>(undefined);

/**
 * Whether the server is the database in this browser: only Settee's service worker answers this address, which is its own. Where no service
 * worker is in between, nothing is requested.
 */
export async function isInThisBrowser(): Promise<boolean> {
  if (!('serviceWorker' in navigator) || navigator.serviceWorker.controller === null) return false;
  const { status } = await fetch(new URL('_settee/alive', base));
  return status === 204;
}

/** Finds out where the databases are, for the words of all screens. */
export async function loadHost(): Promise<void> {
  isBrowser.value = await isInThisBrowser().catch(() => false);
  if (!isBrowser.value) return;
  // The pages that the service worker is for are those of the app.
  appAddress.value = (await navigator.serviceWorker.getRegistration())?.scope;
}
