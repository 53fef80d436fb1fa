/** Makes the peer for an endpoint of a replication. */

import { randomHex } from '../../shared/random-hex.ts';
import type { Credentials, Endpoint, Replication, ReplicatorHost, Trouble } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import type { MemoryShare } from '../peer-memory.ts';
import { PeerClient } from './asking/peer-client.ts';
import type { Peer } from './contract.ts';
import { type Authorization, anonymous } from './credentials/authorization.ts';
import { OAuthAuthorization } from './credentials/oauth-authorization.ts';
import { PasswordAuthorization } from './credentials/password-authorization.ts';
import { beginSession } from './credentials/sessions.ts';
import { DatabasePeer } from './database-peer.ts';
import type { Transport } from './transport/contract.ts';
import { LocalTransport } from './transport/local-transport.ts';
import { NetworkTransport } from './transport/network-transport.ts';

export interface PeerUse {
  /** Ends all requests. */
  readonly signal: AbortSignal;
  /** Where what comes from the network is counted. */
  readonly memory?: MemoryShare | undefined;
  /** As in `PeerClientOptions`. */
  readonly onTrouble?: ((trouble: Trouble | undefined) => void) | undefined;
}

/** Fails with `ReplicationError` where this host can't reach such an endpoint. */
export function openPeer(
  endpoint: Endpoint,
  replication: Replication,
  host: ReplicatorHost,
  { signal, memory, onTrouble }: PeerUse,
): Peer {
  const transport = openTransport(endpoint, replication, host);
  const { connections, connectionTimeoutMs, retriesPerRequest } = replication;
  const { clock, random, log } = host;
  const client = new PeerClient({
    transport,
    authorization: openAuthorization(endpoint, transport, host),
    headers: endpoint.kind === 'remote' ? endpoint.headers : {},
    connections,
    places: endpoint.kind === 'remote' ? host.connections?.of(endpoint.url) : undefined,
    memory: endpoint.kind === 'remote' ? memory : undefined,
    connectionTimeoutMs,
    retriesPerRequest,
    clock,
    random,
    log,
    onTrouble,
    signal,
  });
  return new DatabasePeer(client, connectionTimeoutMs, () => randomHex(random, 16));
}

function openTransport(endpoint: Endpoint, { user, whyEnded }: Replication, host: ReplicatorHost): Transport {
  if (endpoint.kind === 'local') {
    const { handle, basePath } = host;
    return new LocalTransport({ handle, basePath, database: endpoint.name, user, whyEnded });
  }
  const { url, proxy } = endpoint;
  const fetch = proxy === undefined ? host.fetch : host.fetchThrough?.(proxy);
  if (fetch === undefined) {
    const what = proxy === undefined ? 'reach databases on the network' : 'use a proxy';
    throw new ReplicationError('replication_failed', `This host can't ${what}: ${url}`, { mayPass: false });
  }
  return new NetworkTransport({ url, fetch, isBrowserFetch: host.isBrowserFetch === true });
}

function openAuthorization(endpoint: Endpoint, transport: Transport, host: ReplicatorHost): Authorization {
  const credentials: Credentials | undefined = endpoint.kind === 'remote' ? endpoint.credentials : undefined;
  if (credentials === undefined) return anonymous;
  if (credentials.kind === 'password') {
    const begin = host.isBrowserFetch === true ? undefined : beginSession(transport);
    return new PasswordAuthorization(credentials.name, credentials.password, begin, () => host.clock.now());
  }
  return new OAuthAuthorization(credentials, host.clock, host.random);
}
