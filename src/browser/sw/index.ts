/**
 * `settee/sw`, for an app that has a service worker of its own:
 *
 *     const settee = createSettee({ base: '/db/' });
 *     addEventListener('install', (event) => settee.install(event));
 *     addEventListener('fetch', (event) => {
 *       if (settee.respond(event)) return;
 *       …
 *     });
 *
 * The service worker is a classic script, since the core is loaded with `importScripts`.
 */
import type { ServiceWorkerOptions, SetteeServiceWorker } from './contract.ts';
import { ServiceWorkerHost } from './service-worker-host.ts';

export type { ServiceWorkerOptions, SetteeServiceWorker } from './contract.ts';

declare const self: ServiceWorkerGlobalScope;

/** Call it while the script is evaluated: it listens for messages of pages. Throws an Error for an invalid base. */
export function createSettee(options: ServiceWorkerOptions): SetteeServiceWorker {
  return new ServiceWorkerHost(self, options);
}
