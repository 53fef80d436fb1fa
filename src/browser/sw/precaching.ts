/**
 * The entry of `settee-sw-precache.js`, which keeps an app's own files, so that it starts without a network. `settee-sw.js` imports this script if
 * there is a list of files; other apps never load it.
 */
import { PrecacheController, PrecacheRoute } from 'workbox-precaching';
import { NavigationRoute, Router } from 'workbox-routing';
import type { PrecacheList, Precaching } from './contract.ts';

/**
 * Loads the files into a cache while the service worker is being installed; files that are already there in the same revision are not fetched
 * again. Files of other builds leave the cache when this service worker takes over.
 */
function createPrecaching({ files, version, fallback }: PrecacheList): Precaching {
  const controller = new PrecacheController();
  controller.addToCacheList(files.map((file) => (typeof file === 'string' ? { url: file, revision: version } : file)));
  const router = new Router();
  // The files are the same whatever the query is.
  router.registerRoute(new PrecacheRoute(controller, { ignoreURLParametersMatching: [/./] }));
  if (fallback !== undefined) router.registerRoute(new NavigationRoute(controller.createHandlerBoundToURL(fallback)));
  return {
    install: (event) => {
      event.waitUntil(
        controller.install(event).catch((cause: unknown) => {
          throw new Error(
            `A file of the precache list could not be fetched, so this service worker is not installed: ${cause}. Correct the list or the web server.`,
            { cause },
          );
        }),
      );
    },
    activate: (event) => void controller.activate(event),
    respond: (event) => {
      const response = router.handleRequest({ request: event.request, event });
      if (response) event.respondWith(response);
    },
  };
}

Object.assign(globalThis, { setteePrecaching: createPrecaching });
