// The least that an answer through a service worker costs: one that it has at hand.
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  if (!event.request.url.includes('/constant/answer')) return;
  const headers = { 'content-type': 'application/json', 'cache-control': 'must-revalidate' };
  event.respondWith(new Response('{"_id":"doc","n":1}\n', { headers }));
});
