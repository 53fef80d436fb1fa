/**
 * Serves the files of the demo at an address of its own: if it shared the server's origin, its service worker would
 * take requests that are meant for the server, and would mix the stored data of both. The demo's database runs in the
 * browser.
 *
 * Requests to two databases are passed on to the database server, so that the demo can show databases that are kept in sync: in the browser, and
 * there; and the question whether it is up. Only pages of the demo may send them: the server sees no origin in these requests that it could
 * refuse. The server's administration page is for its own origin: requests for it are redirected there. Each response that is passed on names the
 * server's own address in a header, so that the page can say where the server is.
 */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { type IncomingMessage, request as requestPlainly, type ServerResponse } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { extname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { isDatabaseError } from '../../base/errors/database-error.ts';
import { isLoopback } from '../http/host-check.ts';
import { type HttpServer, listen } from '../http/http-server.ts';

/** Beside the built Node host; an installed package has none. */
const builtDemo = fileURLToPath(new URL('../demo', import.meta.url));

/** Its port beside the server's default one. */
export const DEMO_PORT = 5985;

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.jsonl': 'application/jsonl; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.webmanifest': 'application/manifest+json',
  '.webp': 'image/webp',
};

/** The Content Security Policy of the demo's pages: they load from their own origin only. WebAssembly is allowed for the core's MD5. */
export const demoPolicy =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

const misdirected = `${JSON.stringify({
  error: 'misdirected_request',
  reason:
    'This request reached the server of the demo, but only the service worker in the browser answers it. Open the demo first.',
})}\n`;

/** The same for somebody who opened the address. */
const misdirectedPage = `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>Not ready yet</title>
<h1>This address is answered by your browser</h1>
<p>It belongs to the database in your browser, which is not ready here yet. <a href="/">Open the demo</a> first; then this address works, online and offline.</p>
`;

export interface DemoOptions {
  /** Host and allowed hosts are those of the server; the demo is only for this machine, whatever the server listens on. */
  readonly host?: string | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
  /** 0 takes any free port. */
  readonly port: number;
  /** Address of the database server, two of whose databases the demo shares. Default: none is shared. */
  readonly server?: string | undefined;
  /** Default: the demo that was built with this Node host. */
  readonly folder?: string | undefined;
  /** Default `demoPolicy`. */
  readonly policy?: string | undefined;
}

/**
 * Starts the demo's server. Returns a sentence instead if its port can't be used, and undefined if no demo was built:
 * neither keeps the database server from running.
 */
export async function startDemo(options: DemoOptions): Promise<HttpServer | string | undefined> {
  const {
    host: wanted = '127.0.0.1',
    allowedHosts = [],
    port,
    server,
    folder = builtDemo,
    policy = demoPolicy,
  } = options;
  const host = isLoopback(wanted) ? wanted : '127.0.0.1';
  if ((await sizeOf(join(folder, 'index.html'))) === undefined) return undefined;
  try {
    return await listen((incoming, outgoing) => serve({ folder, policy, server }, incoming, outgoing), host, port, {
      allowedHosts,
    });
  } catch (error) {
    if (!isDatabaseError(error, 'storage_blocked')) throw error;
    return `There is no demo: port ${port} can't be used, because another program uses it, or this user may not use it. Choose another one with --demo-port, or none with --no-demo.`;
  }
}

interface Served {
  readonly folder: string;
  readonly policy: string;
  readonly server: string | undefined;
}

async function serve(served: Served, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/' } = incoming;
  if (served.server !== undefined && isRead(method) && ADMINISTRATION.test(url)) {
    outgoing.writeHead(307, { location: addressOf(served.server, '/_utils/'), 'cache-control': 'no-store' }).end();
    return;
  }
  const path = served.server === undefined ? undefined : passedOnPath(method, url);
  if (served.server === undefined || path === undefined) return serveFile(served, incoming, outgoing);
  if (!isOfDemo(incoming))
    return answer(outgoing, 403, 'text/plain', 'Only pages of the demo may send requests here.\n');
  passOn(served.server, path, incoming, outgoing);
}

async function serveFile(
  { folder, policy }: Served,
  { method, url = '/', headers }: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const path = pathOf(url) ?? '';
  if (/^\/db(\/|$)/.test(path)) {
    const isOpened = headers['sec-fetch-mode'] === 'navigate';
    if (isOpened) return answer(outgoing, 421, 'text/html; charset=utf-8', misdirectedPage);
    return answer(outgoing, 421, 'application/json', misdirected);
  }
  if (!isRead(method)) return answer(outgoing, 405, 'text/plain', 'Only GET and HEAD are supported.\n');
  const file = join(folder, path === '/' ? 'index.html' : path);
  const size = await sizeOf(file);
  if (size === undefined) return answer(outgoing, 404, 'text/plain', 'There is no such file.\n');
  outgoing.writeHead(200, {
    'content-type': types[extname(file)] ?? 'application/octet-stream',
    'content-length': size,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    // The names of assets change with their content.
    'cache-control': /^\/(settee-utils\/)?assets\//.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache',
  });
  if (method === 'HEAD') outgoing.end();
  // A client that goes away early is not a failure.
  else await pipeline(createReadStream(file), outgoing).catch(() => outgoing.destroy());
}

/** Decoded; undefined for a path that can't be decoded, or leads out of the folder. */
function pathOf(url: string): string | undefined {
  try {
    const path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
    return /[\\\0]|\/\.\.?(\/|$)/.test(path) ? undefined : path;
  } catch {
    return undefined;
  }
}

function answer(outgoing: ServerResponse, status: number, type: string, text: string): void {
  outgoing.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(text) }).end(text);
}

/** In bytes; undefined for anything that is not a file. */
async function sizeOf(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() ? found.size : undefined;
}

/** The databases that the demo shares with the server, below the path at which the demo's server passes requests on. */
const PASSED_ON = /^\/server(\/settee-(?:demo|notes)(?:[/?].*)?)$/s;

/** Whether the server is up. */
const UP = /^\/server(\/_up)$/;

/** Where the server has its administration page. */
const ADMINISTRATION = /^\/server\/_utils\/?$/;

/** Names the server's own address in the responses that are passed on. */
const SERVER_HEADER = 'x-settee-server';

/** Headers that say which page sends the request, and those that belong to the one connection. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['host', 'origin', 'referer', 'cookie', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'sec-fetch-user'],
  ...['connection', 'keep-alive', 'upgrade', 'te', 'trailer'],
]);

/** Returns the path at the server; undefined for requests that are not passed on. */
function passedOnPath(method: string, url: string): string | undefined {
  return (PASSED_ON.exec(url) ?? (isRead(method) ? UP.exec(url) : undefined))?.[1];
}

/** The address of a path at the server. One that listens on all addresses is found on this machine, as the demo is. */
function addressOf(server: string, path: string): string {
  const address = new URL(path, server);
  if (address.hostname === '0.0.0.0' || address.hostname === '[::]') address.hostname = 'localhost';
  return address.href;
}

function isRead(method = 'GET'): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Whether a request comes from a page of the demo, or from no page at all. */
function isOfDemo({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (origin !== undefined && origin !== `http://${host}`) return false;
  return site === undefined || site === 'same-origin';
}

/**
 * `server`: its address, such as `http://127.0.0.1:5984/`. Answers 502 if it is not running. With https any certificate is accepted: it is that
 * of the server in this very process, may be self-signed, and may name a host by which others reach it.
 */
function passOn(server: string, path: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { protocol, hostname, port } = new URL(server);
  const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !LEFT_OUT.has(name)));
  // Addresses have the brackets of IPv6, connections do not.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const send = protocol === 'https:' ? requestSecurely : requestPlainly;
  const options = { host, port, method: incoming.method, path, headers, rejectUnauthorized: false };
  const named = { [SERVER_HEADER]: addressOf(server, '/') };
  const asked = send(options, (answer) => {
    const { connection: _own, 'keep-alive': _also, ...given } = answer.headers;
    outgoing.writeHead(answer.statusCode ?? 502, { ...given, ...named });
    // The head of a feed that has nothing to report yet.
    outgoing.flushHeaders();
    // A client that goes away early is not a failure.
    pipeline(answer, outgoing).catch(() => undefined);
  });
  asked.on('error', () => {
    if (outgoing.headersSent) outgoing.destroy();
    else
      outgoing
        .writeHead(502, { 'content-type': 'text/plain', ...named })
        .end('The database server can’t be reached.\n');
  });
  outgoing.on('close', () => asked.destroy());
  incoming.pipe(asked);
}
