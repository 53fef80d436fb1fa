// Where the browser has static routes it is told that all goes to the network, without a word to this script.
self.addEventListener('install', (event) => {
  event.addRoutes?.({ condition: { urlPattern: new URLPattern({}) }, source: 'network' });
  self.skipWaiting();
});
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
// Chromium passes by a handler that is empty.
self.addEventListener('fetch', ({ request }) => request.url);
