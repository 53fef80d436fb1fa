/** Requests as text, and servers that answer them. */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import type { Handle } from '../../../../src/base/shared/message.ts';
import { createListener } from '../../../../src/node/http/listener.ts';

export const listenerOf = (handle: Handle) =>
  createListener(handle, (_request, error) => {
    throw error;
  });
export const hello = listenerOf(async () => ({ status: 200, headers: {}, body: 'hello' }));

/** All that the server sends until it ends the connection. */
export async function sendRaw(server: { readonly url: string }, text: string): Promise<string> {
  const socket = createConnection(Number(new URL(server.url).port), '127.0.0.1');
  socket.on('error', () => {}).write(text);
  let received = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    received += piece;
  });
  await once(socket, 'close');
  return received;
}
