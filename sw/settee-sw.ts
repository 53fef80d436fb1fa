/**
 * The ready-made service worker. Its address says what it answers: `settee-sw.js?base=/db/`, with one `base` or several. Requests
 * below a base go to the database, all others are left to the browser. A parameter `settings`, JSON by section and key, applies while no
 * page is open. A parameter `precache` is the address of a script that leaves a `PrecacheList` in the global `setteePrecache`; the Vite
 * plugin writes that global into this script itself. The files of that list are kept, and served from there; files of an earlier list are removed.
 */

import type { PrecacheList, Precaching } from '../src/browser/sw/contract.ts';
import { createSettee, type ServiceWorkerOptions } from '../src/browser/sw/index.ts';
import { pageCaches } from '../src/browser/sw/page-cache.ts';
import { leaveOthers } from '../src/browser/sw/static-routes.ts';

declare const self: ServiceWorkerGlobalScope & {
  readonly setteePrecache?: PrecacheList;
  readonly setteePrecaching?: (list: PrecacheList) => Precaching;
  readonly setteeUtilsScript?: string;
};

const parameters = new URL(self.location.href).searchParams;
const bases = parameters.getAll('base');
const settings: ServiceWorkerOptions['settings'] = JSON.parse(parameters.get('settings') ?? '{}');
const given = self.setteeUtilsScript ?? parameters.get('utils');
const utils = given === '' || given === 'true' || (given === null ? undefined : ownScript(given));
const services = (bases.length > 0 ? bases : ['/db/']).map((base) => createSettee({ base, settings, utils }));
const precaching = openPrecaching(parameters.get('precache'));

self.addEventListener('install', (event) => {
  for (const settee of services) settee.install(event);
  precaching?.install(event);
  if (precaching) return;
  leaveOthers(
    event,
    services.map(({ base }) => base),
  );
});

self.addEventListener('activate', (event) => {
  if (precaching) precaching.activate(event);
  else deleteOldPrecache(event);
  // A failure costs only space, and the next version tries again.
  if (!utils) event.waitUntil(deleteOldPages().catch(() => undefined));
});

self.addEventListener('fetch', (event) => {
  if (!services.some((settee) => settee.respond(event))) precaching?.respond(event);
});

/** Undefined if no files are to be kept. The browser keeps both scripts with this one. */
function openPrecaching(list: string | null): Precaching | undefined {
  if (list !== null) self.importScripts(ownScript(list));
  const { setteePrecache } = self;
  if (setteePrecache === undefined && list === null) return undefined;
  if (!Array.isArray(setteePrecache?.files)) {
    throw new Error(`${list} must set self.setteePrecache = { version: '1', files: ['/', '/app.js'] }`);
  }
  self.importScripts('settee-sw-precache.js');
  return self.setteePrecaching?.(setteePrecache);
}

/**
 * Frees the space of all files that an earlier service worker of this scope kept. For a service worker that keeps none, and so serves none.
 * The cache has the name that Workbox assigns, which is not loaded here:
 * https://developer.chrome.com/docs/workbox/modules/workbox-core#view_and_change_the_default_cache_names
 */
function deleteOldPrecache(event: ExtendableEvent): void {
  const { caches, registration } = self;
  // A failure costs only space, and the next version tries again.
  event.waitUntil(caches.delete(`workbox-precache-v2-${registration.scope}`).catch(() => false));
}

/**
 * A script that could run in a page for a moment could otherwise register this service worker with code of another site in it, which would stay.
 * Throws an Error for an address on another origin.
 */
function ownScript(address: string): string {
  const { origin, protocol, href } = new URL(address, self.location.href);
  if (origin === self.location.origin && protocol === self.location.protocol) return href;
  throw new Error(`${address} is on another origin, and the service worker loads scripts from its own only`);
}

/** Frees the space of the administration page, which an earlier service worker of these bases has kept. */
async function deleteOldPages(): Promise<void> {
  const prefixes = services.map(({ base }) => pageCaches(base));
  const names = await self.caches.keys();
  const old = names.filter((name) => prefixes.some((prefix) => name.startsWith(prefix)));
  await Promise.all(old.map((name) => self.caches.delete(name)));
}
