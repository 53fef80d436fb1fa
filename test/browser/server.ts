import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

/** Answers itself what files can't, or returns false. */
export type Interceptor = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface TestServer {
  /** Such as `http://127.0.0.1:4711`, without a slash at its end. Each server has an origin, thus a storage, of its own. */
  readonly origin: string;
  /** The page whose script is `pages/<name>.page.ts`, with parameters that it reads from its address. */
  page(name: string, parameters?: Readonly<Record<string, string>>): string;
  /** Paths, with their queries, of what came here. */
  readonly seen: readonly string[];
  intercept(interceptor: Interceptor): void;
  close(): Promise<void>;
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.map': 'application/json',
  '.html': 'text/html; charset=utf-8',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
};

/**
 * Serves folders on the loopback, the first that has a file: the built browser files and the built test pages. A page
 * is no file: `/page/<name>` loads `/pages/<name>.js`.
 */
export async function startTestServer(folders: readonly string[]): Promise<TestServer> {
  const seen: string[] = [];
  const interceptors: Interceptor[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    if (interceptors.some((interceptor) => interceptor(request, response))) return;
    serve(folders, request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const origin = `http://127.0.0.1:${portOf(server.address())}`;
  return {
    origin,
    seen,
    page: (name, parameters = {}) => `${origin}/page/${name}?${new URLSearchParams(parameters)}`,
    intercept: (interceptor) => interceptors.unshift(interceptor),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** As web servers do it: the folder itself is its `index.html`. */
export async function startSiteServer(folder: string): Promise<TestServer> {
  const server = await startTestServer([folder]);
  server.intercept((request, response) => {
    if (new URL(request.url ?? '', server.origin).pathname !== '/') return false;
    response.writeHead(200, { 'content-type': types['.html'], 'cache-control': 'no-cache' });
    response.end(readFileSync(join(folder, 'index.html')));
    return true;
  });
  return server;
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

function serve(folders: readonly string[], request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost');
  const page = /^\/page\/([\w-]+)$/.exec(pathname)?.[1];
  if (page !== undefined) {
    response.writeHead(200, { 'content-type': types['.html'], 'cache-control': 'no-cache' });
    response.end(htmlOf(page));
    return;
  }
  const file = folders.map((folder) => join(folder, normalize(decodeURIComponent(pathname)))).find(isFile);
  if (file === undefined) {
    response.writeHead(404, { 'content-type': 'text/plain' });
    response.end(`nothing at ${pathname}`);
    return;
  }
  response.writeHead(200, {
    'content-type': types[extname(file)] ?? 'application/octet-stream',
    'cache-control': 'no-cache',
  });
  createReadStream(file).pipe(response);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Errors before the page's own script runs are kept where the driver finds them. */
function htmlOf(name: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<link rel="icon" href="data:,">
<title>${name}</title>
<script>
  globalThis.pageErrors = [];
  addEventListener('error', (event) => pageErrors.push(String(event.message) + ' ' + (event.filename ?? '')));
  addEventListener('unhandledrejection', (event) => pageErrors.push(String(event.reason?.stack ?? event.reason)));
</script>
<script type="module" src="/pages/${name}.js"></script>
`;
}
