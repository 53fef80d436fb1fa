// The least that an answer through a service worker costs: one that it has at hand, and one that it has to ask a worker for. The page
// says what the answer is.
const fromWorker = new BroadcastChannel('constant-answers');
const toWorker = new BroadcastChannel('constant-questions');
const waiting = new Map();
let asked = 0;
let port;
let constant;

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('message', ({ data, ports, source }) => {
  constant = data;
  [port] = ports;
  port.onmessage = settle;
  source.postMessage('ready');
});
self.addEventListener('fetch', (event) => {
  const { url } = event.request;
  if (url.includes('/constant/answer')) event.respondWith(new Response(constant.body, constant));
  else if (url.includes('/constant/port')) event.respondWith(ask(port));
  else if (url.includes('/constant/channel')) event.respondWith(ask(toWorker));
});
fromWorker.onmessage = settle;

async function ask(way) {
  asked += 1;
  const number = asked;
  const body = await new Promise((resolve) => {
    waiting.set(number, resolve);
    way.postMessage(number);
  });
  return new Response(body, constant);
}

function settle({ data: [number, body] }) {
  waiting.get(number)(body);
  waiting.delete(number);
}
