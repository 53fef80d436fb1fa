/**
 * Passes requests of the demo's pages on to the database server beside it, so that the demo can show two databases that are kept in sync: one in
 * the browser, one there. Only one database can be reached in this way, and only by pages of the demo itself: to the server these requests have no
 * origin that it could refuse.
 */
import { type IncomingMessage, request as requestPlainly, type ServerResponse } from 'node:http';
import { request as requestSecurely } from 'node:https';
import { pipeline } from 'node:stream';

/** The database that the demo shares with the server, below the path at which the demo's server passes requests on. */
const PASSED_ON = /^\/server(\/settee-demo(?:[/?].*)?)$/s;

/** Headers that say which page sends the request, and those that belong to the one connection. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['host', 'origin', 'referer', 'cookie', 'sec-fetch-site', 'sec-fetch-mode', 'sec-fetch-dest', 'sec-fetch-user'],
  ...['connection', 'keep-alive', 'upgrade', 'te', 'trailer'],
]);

/** Returns the path at the server; undefined for requests that are not passed on. */
export function passedOnPath(url: string): string | undefined {
  return PASSED_ON.exec(url)?.[1];
}

/** Whether a request comes from a page of the demo, or from no page at all. */
export function isOfDemo({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (origin !== undefined && origin !== `http://${host}`) return false;
  return site === undefined || site === 'same-origin';
}

/**
 * `server`: its address, such as `http://127.0.0.1:5984/`. Answers 502 if it is not running. With https any certificate is accepted: it is that
 * of the server in this very process, may be self-signed, and may name a host by which others reach it.
 */
export function passOn(server: string, path: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { protocol, hostname, port } = new URL(server);
  const headers = Object.fromEntries(Object.entries(incoming.headers).filter(([name]) => !LEFT_OUT.has(name)));
  // Addresses have the brackets of IPv6, connections do not.
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const send = protocol === 'https:' ? requestSecurely : requestPlainly;
  const options = { host, port, method: incoming.method, path, headers, rejectUnauthorized: false };
  const asked = send(options, (answer) => {
    const { connection: _own, 'keep-alive': _also, ...given } = answer.headers;
    outgoing.writeHead(answer.statusCode ?? 502, given);
    // The head of a feed that has nothing to report yet.
    outgoing.flushHeaders();
    pipeline(answer, outgoing, () => undefined);
  });
  asked.on('error', () => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502, { 'content-type': 'text/plain' }).end('The database server can’t be reached.\n');
  });
  outgoing.on('close', () => asked.destroy());
  incoming.pipe(asked);
}
