import type { TestServer } from './server.ts';

/** From now on the script of the service worker is another one, which leaves a trace when it runs: a cache named `newer version`. */
export async function replaceServiceWorker(server: TestServer): Promise<void> {
  const script = await (await fetch(`${server.origin}/settee-sw.js`)).text();
  server.intercept((request, response) => {
    if (request.url?.startsWith('/settee-sw.js') !== true) return false;
    response.writeHead(200, { 'content-type': 'text/javascript', 'cache-control': 'no-cache' });
    response.end(`${script}\nvoid caches.open('newer version');`);
    return true;
  });
}
