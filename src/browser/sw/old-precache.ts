/**
 * What `precaching.ts` leaves when an app no longer wants its files to be kept. The cache has the name that Workbox assigns, which is not loaded
 * here: https://developer.chrome.com/docs/workbox/modules/workbox-core#view_and_change_the_default_cache_names
 */
declare const self: ServiceWorkerGlobalScope;

/** Frees the space of all files that an earlier service worker of this scope kept. For a service worker that keeps none, and so serves none. */
export function deleteOldPrecache(event: ExtendableEvent): void {
  const { caches, registration } = self;
  // A failure costs only space, and the next version tries again.
  event.waitUntil(caches.delete(`workbox-precache-v2-${registration.scope}`).catch(() => false));
}
