/**
 * The ready-made service worker. Its address says what it answers: `settee-sw.js?base=/db/`, with one `base` or several. Requests
 * below a base go to the database, all others are left to the browser. A parameter `settings`, JSON by section and key, is for when no
 * page is open.
 */
import { createSettee, type ServiceWorkerOptions } from '../src/sw/index.ts';
import { leaveOthers } from '../src/sw/static-routes.ts';

declare const self: ServiceWorkerGlobalScope;

const parameters = new URL(self.location.href).searchParams;
const bases = parameters.getAll('base');
const settings: ServiceWorkerOptions['settings'] = JSON.parse(parameters.get('settings') ?? '{}');
const services = (bases.length > 0 ? bases : ['/db/']).map((base) => createSettee({ base, settings }));

self.addEventListener('install', (event) => {
  for (const settee of services) settee.install(event);
  leaveOthers(
    event,
    services.map(({ base }) => base),
  );
});

self.addEventListener('fetch', (event) => {
  services.some((settee) => settee.respond(event));
});
