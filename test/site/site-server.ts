import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';

export const builtSite = join(import.meta.dirname, '../../dist/site');

export interface SiteServer {
  /** The site's root, with a slash at its end. */
  readonly url: string;
  /** Paths of what came here. */
  readonly seen: readonly string[];
  close(): Promise<void>;
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webp': 'image/webp',
};

/** Serves the built site as any web server would, below a path such as `/` or `/some/path/`, and nothing beside it. */
export async function serveSite(path: string): Promise<SiteServer> {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    seen.push(pathname);
    const name = pathname.startsWith(path) ? decodeURIComponent(pathname.slice(path.length)) : '..';
    const file = join(builtSite, normalize(name === '' || name.endsWith('/') ? `${name}index.html` : name));
    const isThere = file.startsWith(builtSite) && statSync(file, { throwIfNoEntry: false })?.isFile() === true;
    response.writeHead(isThere ? 200 : 404, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
    response.end(isThere ? readFileSync(file) : `nothing at ${pathname}`);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}${path}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The pages of the built site, such as `http/find.html`. */
export function builtPages(): string[] {
  const names = readdirSync(builtSite, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  return names.filter((name) => name.endsWith('.html')).sort();
}

export function readBuilt(name: string): string {
  return readFileSync(join(builtSite, name), 'utf8');
}
