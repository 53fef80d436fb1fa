/** Who may reach a server: while it has no admin, every client that can connect may do everything, so only this machine may connect. */
import type { Socket } from 'node:net';
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Refusal } from './refusals.ts';

export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i.test(host);
}

/** Fails with `bad_request`. `adminCommand` sets an admin. */
export function assertListenAllowed(host: string, hasAdmin: boolean, adminCommand = 'settee admin add NAME'): void {
  if (hasAdmin || isLoopback(host)) return;
  throw new DatabaseError(
    'bad_request',
    `Settee does not listen on ${host}: it has no admin, so anyone who reaches that address could read and delete everything. Set one with "${adminCommand}"; or use 127.0.0.1 (the default), ::1 or localhost.`,
  );
}

const NO_ADMIN: Refusal = {
  status: 403,
  error: 'forbidden',
  reason:
    'This server has no admin any more, so that it answers its own machine alone. Set one there with "settee admin add NAME", and start the server again.',
};

/** Why a request from another machine is refused; undefined if it is not. */
export function reachRefusal(socket: Socket, hasAdmin: () => boolean): Refusal | undefined {
  const peer = socket.remoteAddress?.replace(/^::ffff:/, '') ?? '';
  return isLoopback(peer) || hasAdmin() ? undefined : NO_ADMIN;
}
