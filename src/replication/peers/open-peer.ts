/** Makes the peer for an endpoint of a replication. */

import { randomHex } from '../../base/shared/bytes.ts';
import type { Handle } from '../../base/shared/message.ts';
import type { RunEnd } from '../connection-limits.ts';
import type { Asker, Credentials, Endpoint, PeerOutage, Replication, ReplicatorHost } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import type { MemoryShare } from '../peer-memory.ts';
import {
  type Authorization,
  anonymous,
  BearerAuthorization,
  beginSession,
  OAuthAuthorization,
  PasswordAuthorization,
  ProvidedAuthorization,
  sessionOfBrowser,
} from './client/authorization.ts';
import { LocalTransport } from './client/local-transport.ts';
import { NetworkTransport, type OtherServers } from './client/network-transport.ts';
import { PeerClient, type PeerHost } from './client/peer-client.ts';
import type { Transport } from './client/transport.ts';
import { Peer } from './peer.ts';

type RemoteEndpoint = Extract<Endpoint, { kind: 'remote' }>;

export interface PeerUse {
  readonly side: RunEnd['side'];
  /** Ends all requests. */
  readonly signal: AbortSignal;
  /** Where the memory for network responses is counted. */
  readonly memory?: MemoryShare | undefined;
  /** As in `PeerClientOptions`. */
  readonly onOutage?: ((outage: PeerOutage | undefined) => void) | undefined;
}

/** Fails with `ReplicationError` if this host can't reach such an endpoint. */
export function openPeer(
  endpoint: Endpoint,
  replication: Replication,
  host: ReplicatorHost,
  { side, signal, memory, onOutage }: PeerUse,
): Peer {
  const transport = openTransport(endpoint, replication, host);
  const { connections, connectionTimeoutMs, retriesPerRequest } = replication;
  const { clock, random, log } = host;
  const client = new PeerClient({
    transport,
    authorization: openAuthorization(endpoint, transport, host),
    headers: endpoint.kind === 'remote' ? { ...traceOf(replication), ...endpoint.headers } : {},
    connections,
    hostLimits: transport.isLocal
      ? undefined
      : host.connectionLimits?.of({ url: transport.name, side, user: memory?.user ?? '' }),
    host: transport.isLocal ? undefined : peerHost(transport.name, replication, host),
    memory: transport.isLocal ? undefined : memory,
    tellsReasons: transport.isLocal || replication.asker.isAdmin,
    connectionTimeoutMs,
    retriesPerRequest,
    clock,
    random,
    log,
    onOutage,
    signal,
  });
  return new Peer(client, connectionTimeoutMs, () => randomHex(random, 16));
}

/** A continuous replication does not belong to a request for long. */
function traceOf({ asker, continuous }: Replication): Asker['trace'] {
  return continuous ? undefined : asker.trace;
}

/** Users who may not name every address learn nothing from the responses that admins' replications get. */
function peerHost(url: string, { asker }: Replication, { reachability, isOnline, guard }: ReplicatorHost): PeerHost {
  const { origin } = new URL(url);
  return { origin: asker.isAdmin || guard === undefined ? origin : `${origin} of users`, reachability, isOnline };
}

function openTransport(endpoint: Endpoint, replication: Replication, host: ReplicatorHost): Transport {
  const { handle, basePath } = host;
  const { user, asker, whyEnded } = replication;
  if (endpoint.kind === 'local') {
    const { name } = endpoint;
    const path = `${basePath}/${encodeURIComponent(name)}`;
    return new LocalTransport({ handle, name, basePath, path, sender: { user }, whyEnded });
  }
  const { url, proxy } = endpoint;
  if (endpoint.isOwn === true) return openOwnTransport(endpoint, replication, handle);
  const { fetch: fetchDirectly, fetchThrough } = asker.isAdmin ? host : (host.guard ?? host);
  const fetch = proxy === undefined ? fetchDirectly : fetchThrough?.(proxy);
  if (fetch === undefined) {
    const what = proxy === undefined ? 'reach databases on the network' : 'use a proxy';
    throw new ReplicationError('replication_failed', `This host can't ${what}: ${url}`, { isRetryable: false });
  }
  const isBrowserFetch = host.isBrowserFetch === true;
  const { isOnline } = host;
  const sendsCookies = isBrowserFetch && endpoint.credentials?.kind === 'session';
  return new NetworkTransport({
    ...{ url, fetch, isBrowserFetch, isOnline, sendsCookies },
    elsewhere: otherServers(host, proxy),
  });
}

/** The peer chooses where it redirects to, not the user who named the peer. So an admin's rights don't apply to that address. */
function otherServers({ guard }: ReplicatorHost, proxy: string | undefined): OtherServers | undefined {
  if (guard === undefined) return undefined;
  const fetch = proxy === undefined ? guard.fetch : guard.fetchThrough?.(proxy);
  return fetch && { fetch, isOwn: (url) => guard.isOwn(url) };
}

/** Credentials are checked like any client's at the asker's address. Without credentials the sender is the asker. */
function openOwnTransport(endpoint: RemoteEndpoint, { user, asker, whyEnded }: Replication, handle: Handle): Transport {
  const { url, headers, credentials } = endpoint;
  const { pathname, host, protocol } = new URL(url);
  const hasCredentials = credentials !== undefined || 'authorization' in headers || 'cookie' in headers;
  const scheme = protocol === 'https:' ? 'https' : undefined;
  return new LocalTransport({
    handle,
    name: url,
    basePath: pathname.slice(0, pathname.lastIndexOf('/')),
    path: pathname,
    headers: { host },
    whyEnded,
    sender: hasCredentials ? { peer: asker.address, scheme } : { user, scheme },
  });
}

function openAuthorization(endpoint: Endpoint, transport: Transport, host: ReplicatorHost): Authorization {
  const credentials: Credentials | undefined = endpoint.kind === 'remote' ? endpoint.credentials : undefined;
  if (credentials === undefined) return anonymous;
  if (credentials.kind === 'password') {
    const begin = host.isBrowserFetch === true ? undefined : beginSession(transport);
    return new PasswordAuthorization(credentials.name, credentials.password, begin, () => host.clock.now());
  }
  if (credentials.kind === 'oauth') return new OAuthAuthorization(credentials, host.clock, host.random);
  if (credentials.kind === 'session') return sessionOfBrowser(transport.name);
  if (credentials.token !== undefined) return new BearerAuthorization(credentials.token);
  if (host.tokens !== undefined) return new ProvidedAuthorization(transport.name, host.tokens);
  const reason = `There is no app here that provides a bearer token for ${transport.name}.`;
  throw new ReplicationError('replication_failed', reason, { isRetryable: false });
}
