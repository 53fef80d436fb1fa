/** Servers of a listener alone, and what goes over their connections. */
import { createConnection } from 'node:net';
import { afterEach } from 'vitest';
import type { Handle, PlainResponse } from '../../../../src/base/shared/message.ts';
import { type HttpServer, listen } from '../../../../src/node/http/http-server.ts';
import { createListener, type ListenerOptions } from '../../../../src/node/http/listener.ts';

const servers: HttpServer[] = [];
export const failures: { request: string; error: unknown }[] = [];

/** Closes the servers of each test of a file after it. */
export function useServers(): void {
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()));
    failures.length = 0;
  });
}

export async function serve(handle: Handle, isOwn = false, rules: ListenerOptions = {}): Promise<string> {
  const note = (request: string, error: unknown) => failures.push({ request, error });
  const listener = createListener(handle, note, undefined, () => isOwn, rules);
  const server = await listen(listener, '127.0.0.1', 0, { allowedHosts: ['x'] });
  servers.push(server);
  return server.url;
}

export function answer(
  body: PlainResponse['body'],
  headers: PlainResponse['headers'] = {},
  status = 200,
): PlainResponse {
  return { status, headers, body };
}

/**
 * Sends bytes as they are and gives all that comes back until the server closes the connection. Closes its own half with the first bytes of the
 * response: Node's server takes an earlier end for a client that has left, if it comes before the response.
 */
export async function exchange(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = createConnection(Number(port), hostname);
  socket.write(text);
  let received = '';
  for await (const chunk of socket.setEncoding('latin1')) {
    if (received === '') socket.end();
    received += chunk;
  }
  return received;
}

export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((resolvePromise) => {
    resolve = resolvePromise;
  });
  return { promise, resolve };
}
