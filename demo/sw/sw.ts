/**
 * The demo's own service worker: requests below `/db/` go to the database, with its administration page at `/db/_utils/`, and the app's files
 * come from a cache, so that it also starts without a network. The files of the documentation and of the administration page, where Settee finds
 * them, follow when the page asks for that.
 */
import { createSettee } from 'settee/sw';

interface Shell {
  readonly version: string;
  /** Kept at the installation. */
  readonly files: readonly string[];
  /** Kept when a page sends the message `keep-later`. */
  readonly later: readonly string[];
}

declare const self: ServiceWorkerGlobalScope & { readonly __SHELL__: Shell };

/** Written by the build. */
const shell: Shell = self.__SHELL__;
const kept = new Set([...shell.files, ...shell.later]);
const settee = createSettee({ base: '/db/', utils: true });

self.addEventListener('install', (event) => {
  settee.install(event);
  event.waitUntil(keepShell());
});

self.addEventListener('activate', (event) => {
  event.waitUntil(dropOtherShells());
});

self.addEventListener('fetch', (event) => {
  if (settee.respond(event)) return;
  const { method, url } = event.request;
  const { origin, pathname } = new URL(url);
  const file = pathname === '/index.html' ? '/' : pathname;
  // Whatever else is asked for, such as the administration page of the server, comes from the network.
  if (origin === self.location.origin && method === 'GET' && kept.has(file)) {
    event.respondWith(answer(event.request, file));
  }
});

self.addEventListener('message', (event) => {
  if (event.data === 'keep-later') event.waitUntil(keepLater());
});

async function keepShell(): Promise<void> {
  const cache = await caches.open(shell.version);
  // Not from the browser's own cache, which may hold files of another build.
  await cache.addAll(shell.files.map((file) => new Request(file, { cache: 'reload' })));
}

/** One after another, so that they don't delay what the user does. What is missing at the end is fetched after the next visit. */
async function keepLater(): Promise<void> {
  const cache = await caches.open(shell.version);
  const present = new Set((await cache.keys()).map(({ url }) => new URL(url).pathname));
  for (const file of shell.later) {
    if (!present.has(file)) await cache.add(new Request(file, { cache: 'reload' })).catch(() => undefined);
  }
}

/** Settee's own caches have the files of an administration page that is open, of whatever version. */
async function dropOtherShells(): Promise<void> {
  const others = (await caches.keys()).filter((name) => name !== shell.version && !name.startsWith('settee-'));
  await Promise.all(others.map((name) => caches.delete(name)));
}

/** Browsers drop caches when storage runs short; then the network is used. */
async function answer(request: Request, file: string): Promise<Response> {
  const cache = await caches.open(shell.version);
  return (await cache.match(file)) ?? fetch(request);
}
