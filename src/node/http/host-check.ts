/**
 * Who may reach a server: requests for its own names alone, against DNS rebinding; and only this machine while it has no admin, since every client
 * that can connect may do everything then.
 */
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { DatabaseError } from '../../base/errors/database-error.ts';
import { peerOf } from '../tracing/sender.ts';
import type { Refusal } from './refusals.ts';

/** Names and addresses that no DNS server can make point to another machine (RFC 6761, 6.3), without a dot at the end. */
const LOOPBACK = /^(?:localhost|[\w.~-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** What a request has in place of a path if it names the host there (RFC 9112, 3.2.2). `Host` is then ignored. */
const ABSOLUTE = /^[a-z][a-z\d+.-]*:\/\/([^/?#]*)/i;

interface HostOptions {
  /** All IP addresses are accepted, for a server that listens to other machines: no page can make an IP address point elsewhere. */
  readonly takesAddresses?: boolean;
  /** Called for hosts that are none of the others, with their ports. */
  readonly isOwnHost?: ((host: string) => boolean) | undefined;
}

/** A host name or an address as a `Host` header has it, without a port. */
const HOST_NAME = /^(?:[^\s/:?#@[\]]+|\[[\da-f:.]+\])$/i;

/**
 * Refuses requests that a web page sent here by DNS rebinding: a page can make its own name point to 127.0.0.1 and then
 * talk to this server as to its own site. The `Host` header of such a request has the page's name, so only loopback names
 * and addresses, and the names in `allowed`, are accepted.
 */
export class HostCheck {
  readonly #allowed: ReadonlySet<string>;
  readonly #takesAddresses: boolean;
  readonly #isOwnHost: (host: string) => boolean;
  /** Consecutive requests mostly have the same header, so it is compared first. */
  #lastAccepted: string | undefined;

  /** Fails with `bad_request` on anything that is not a host name. */
  constructor(allowed: readonly string[], { takesAddresses = false, isOwnHost = () => false }: HostOptions = {}) {
    for (const name of allowed) assertHostName(name);
    this.#takesAddresses = takesAddresses;
    this.#isOwnHost = isOwnHost;
    this.#allowed = new Set(allowed.map(normalise));
  }

  accepts(incoming: IncomingMessage): boolean {
    return hostsOf(incoming).every((host) => this.#acceptsHost(host));
  }

  /** Undefined, as HTTP/1.0 permits, and empty are accepted: a browser always sends a name. */
  #acceptsHost(header: string | undefined): boolean {
    if (header === this.#lastAccepted || header === undefined || header === '') return true;
    const name = normalise(withoutPort(header));
    const isAddress = this.#takesAddresses && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0;
    if (!isAddress && !LOOPBACK.test(name) && !this.#allowed.has(name)) return this.#isOwnHost(header);
    this.#lastAccepted = header;
    return true;
  }

  /** 403, which says how to get the name accepted. */
  refusal(incoming: IncomingMessage): Refusal {
    const refused = hostsOf(incoming).find((host) => !this.#acceptsHost(host)) ?? '';
    const name = withoutPort(refused).slice(0, 255);
    const reason = `This server does not answer under the host name "${name}": a web page may have made that name point to this machine. Use localhost or 127.0.0.1; or, if the name is yours, start the server with --allow-host ${name}.`;
    return { status: 403, error: 'forbidden', reason };
  }
}

/** All hosts that a request says it is for. */
function hostsOf({ headers, url = '' }: IncomingMessage): (string | undefined)[] {
  return [headers.host, ABSOLUTE.exec(url)?.[1]];
}

/** Fails with `bad_request` on anything that is not a host name. */
export function assertHostName(name: string): void {
  if (HOST_NAME.test(name)) return;
  const reason = `The allowed host "${name}" is not a host name; write it without scheme, port and path, as in db.example.org.`;
  throw new DatabaseError('bad_request', reason);
}

/** A dot at the end of a name says that it is complete; the name is the same without it. */
function normalise(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** The brackets around an IPv6 address stay. */
function withoutPort(host: string): string {
  return host.replace(/:\d*$/, '');
}

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
    'This server no longer has an admin, so it answers only requests from its own machine. Add one there with "settee admin add NAME", and start the server again.',
};

/** Why a request from another machine is refused; undefined if it is not. */
export function reachRefusal(socket: Pick<Socket, 'remoteAddress'>, hasAdmin: () => boolean): Refusal | undefined {
  const peer = peerOf(socket) ?? '';
  return isLoopback(peer) || hasAdmin() ? undefined : NO_ADMIN;
}
