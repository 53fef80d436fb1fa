import type { Site } from './browser-session.ts';
import type { Tab } from './drivers/browser.ts';

/**
 * The least that could carry bodies between pages and the worker of one of them: a service worker that hands on pieces as they are asked
 * for, and a worker that makes them up, or drops them. It shows what the browser itself takes for that. Bodies are sent to `/bare/in`, and
 * come from `/bare/out?pieces=N`, N pieces of 1 MB.
 */
const PIECE_BYTES = 262_144;

const SERVICE_WORKER = `
  let port;
  const waiting = [];
  const ask = (message, transfer) => new Promise((resolve) => {
    waiting.push(resolve);
    port.postMessage(message, transfer);
  });
  addEventListener('install', () => skipWaiting());
  addEventListener('activate', (event) => event.waitUntil(clients.claim()));
  addEventListener('message', ({ ports }) => {
    [port] = ports;
    port.onmessage = ({ data }) => waiting.shift()(data);
  });
  addEventListener('fetch', (event) => {
    const url = new URL(event.request.url);
    if (url.pathname === '/bare/in') event.respondWith(take(event.request.body.getReader()));
    if (url.pathname === '/bare/out') event.respondWith(give(Number(url.searchParams.get('pieces')) * 2 ** 20));
  });
  async function take(reader) {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      await ask(next.value, [next.value.buffer]);
    }
    return new Response(null, { status: 201 });
  }
  function give(bytes) {
    let left = bytes;
    return new Response(new ReadableStream({
      async pull(controller) {
        if (left === 0) return controller.close();
        left -= ${PIECE_BYTES};
        controller.enqueue(await ask('more'));
      },
    }, { highWaterMark: 0 }));
  }
`;

const WORKER = `
  const source = crypto.getRandomValues(new Uint8Array(65_536));
  addEventListener('message', ({ ports: [port] }) => {
    port.onmessage = ({ data }) => {
      if (data !== 'more') return port.postMessage('taken');
      const piece = new Uint8Array(${PIECE_BYTES});
      for (let at = 0; at < piece.length; at += source.length) piece.set(source, at);
      port.postMessage(piece, [piece.buffer]);
    };
  });
`;

const BEGIN = `(async () => {
  await navigator.serviceWorker.register('/bare-service-worker.js');
  const { active } = await navigator.serviceWorker.ready;
  const { port1, port2 } = new MessageChannel();
  globalThis.bare = new Worker('/bare-worker.js');
  bare.postMessage('', [port1]);
  active.postMessage('', [port2]);
})()`;

/** Begins it in that tab, which must not have begun anything else. Its site's pages are controlled from then on. */
export async function beginBareRelay(site: Site, tab: Tab): Promise<void> {
  const scripts = new Map([
    ['/bare-service-worker.js', SERVICE_WORKER],
    ['/bare-worker.js', WORKER],
  ]);
  site.server.intercept((request, response) => {
    const script = scripts.get(request.url ?? '');
    if (script === undefined) return false;
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(script);
    return true;
  });
  await tab.evaluate(BEGIN);
}
