/** Serves the bench page on the loopback, under two origins, and takes what it posts. */
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { text } from 'node:stream/consumers';

const types = {
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.html': 'text/html; charset=utf-8',
  // Its compiling begins while it comes.
  '.wasm': 'application/wasm',
};

/**
 * `results` resolves to what the page posts to `/results`, and rejects with what it posts to `/failure`. `services`: what else it may ask for,
 * by path: functions of the JSON that was posted, whose values are answered as JSON.
 */
export async function startServer(folders, services = {}) {
  let resolveResults;
  let rejectResults;
  const results = new Promise((resolve, reject) => {
    resolveResults = resolve;
    rejectResults = reject;
  });
  // It may fail before anyone waits for it.
  results.catch(() => {});
  const takers = {
    '/results': (body) => resolveResults(JSON.parse(body)),
    '/failure': (body) => rejectResults(new Error(body)),
    '/progress': (body) => process.stdout.write(`${body}\n`),
  };
  const answer = async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    if (services[pathname] !== undefined) {
      response.end(JSON.stringify((await services[pathname](JSON.parse(await text(request)))) ?? null));
      return;
    }
    const taker = takers[pathname];
    if (taker !== undefined) taker(await text(request));
    if (pathname === '/new-origin') response.end(await listen());
    else if (taker !== undefined || pathname === '/constant.txt') response.end('{"ok":true}\n');
    else serve(folders, pathname, response);
  };
  const servers = [];
  const listen = async () => {
    const server = createServer((request, response) => answer(request, response).catch(rejectResults));
    servers.push(server);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${server.address().port}`;
  };
  const [origin, otherOrigin] = [await listen(), await listen()];
  return {
    origin,
    otherOrigin,
    results,
    close: () => {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

/** Scripts may be kept: what is measured begins with scripts that are there already. */
function serve(folders, pathname, response) {
  const file = folders
    .map((folder) => join(folder, normalize(pathname)))
    .find((path) => statSync(path, { throwIfNoEntry: false })?.isFile());
  if (file === undefined) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-type': types[extname(file)] ?? 'text/plain', 'cache-control': 'max-age=3600' });
  createReadStream(file).pipe(response);
}
