/**
 * What `precaching.ts` leaves when an app no longer wants its files to be kept. The cache has the name that Workbox gives it, which is not loaded
 * there: https://developer.chrome.com/docs/workbox/modules/workbox-core#view_and_change_the_default_cache_names
 */
declare const self: ServiceWorkerGlobalScope;

/** Frees the space of all files that an earlier service worker of this scope kept. For one that keeps none, and so answers none. */
export function deleteOldPrecache(event: ExtendableEvent): void {
  const { caches, registration } = self;
  // It costs nothing but space where it fails, and the next version tries again.
  event.waitUntil(caches.delete(`workbox-precache-v2-${registration.scope}`).catch(() => false));
}
