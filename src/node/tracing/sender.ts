/** Who sent a request, by its connection and its headers. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How an IPv4 address looks on a socket that also takes IPv6. */
const MAPPED_IPV4 = /^::ffff:/;

/** The IP address at the other end; undefined if it has left. */
export function peerOf({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string | undefined {
  return remoteAddress?.replace(MAPPED_IPV4, '');
}

/** `X-Forwarded-For`: a list with commas. Undefined without that header. */
export function forwardedFor({ headers }: IncomingMessage): string | undefined {
  const forwarded = headers['x-forwarded-for'];
  return Array.isArray(forwarded) ? forwarded.join(', ') : forwarded;
}
