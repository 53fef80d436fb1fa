/**
 * The id of a replication: the same request always gets the same id, also after a restart. A change of what is
 * copied changes the id, so the replication begins again. How it is copied (batch sizes, credentials) changes nothing.
 *
 * An id is shown in tasks, documents and responses, so nothing secret goes into its digest either: the digest of a short password can be
 * guessed.
 */

import { md5 } from '../../database/documents/md5.ts';
import type { Credentials, Endpoint, Replication } from '../contract.ts';

export interface ReplicationId {
  /** 32 hexadecimal digits: names the checkpoints. */
  readonly base: string;
  /** With `+continuous` and `+create_target`, as the interface shows it. */
  readonly full: string;
  /** The same for all users who ask for this replication. */
  readonly anyUser: string;
}

/** Part of the id of a replication that leaves design documents out. */
const NO_DESIGN_DOCS = 'without design documents';
const SERVER_ADMIN_ROLE = '_admin';
/** Names of headers whose values are secrets. */
const SECRET_HEADER = /auth|cookie|credential|key|pass|secret|session|signature|token/;

/** `filterSource`: the text of the filter function, if there is one. */
export async function replicationId(
  replication: Replication,
  serverUuid: string,
  filterSource?: string,
): Promise<ReplicationId> {
  const { source, target, selection, designDocs, continuous, createTarget } = replication;
  const what = JSON.stringify([
    serverUuid,
    endpointParts(source),
    endpointParts(target),
    selection ?? null,
    filterSource ?? null,
    ...(designDocs === false ? [NO_DESIGN_DOCS] : []),
  ]);
  // A list of ids may be long: its text is made once.
  const base = await md5(`${what.slice(0, -1)},${JSON.stringify(userParts(replication))}]`);
  const suffix = `${continuous ? '+continuous' : ''}${createTarget ? '+create_target' : ''}`;
  return { base, full: `${base}${suffix}`, anyUser: `${await md5(what)}${suffix}` };
}

function endpointParts(endpoint: Endpoint): readonly unknown[] {
  if (endpoint.kind === 'local') return ['local', endpoint.name];
  const headers = Object.entries(endpoint.headers).map(([name, value]) => [
    name,
    SECRET_HEADER.test(name) ? null : value,
  ]);
  return ['remote', endpoint.url, headers.sort(byName), identity(endpoint.credentials)];
}

function byName([one]: readonly unknown[], [other]: readonly unknown[]): number {
  return String(one) < String(other) ? -1 : 1;
}

/** Returns the user at the peer, without the secrets that prove it. */
function identity(credentials: Credentials | undefined): readonly unknown[] {
  if (credentials === undefined) return [];
  const { kind } = credentials;
  if (kind === 'session' || kind === 'bearer') return [kind];
  return kind === 'password' ? [credentials.name] : ['oauth', credentials.consumerKey, credentials.token];
}

/**
 * All admins count as one: a new or renamed admin need not begin again. What an admin runs with another user's rights is separate from that
 * user's own request: neither may end the other's, or use its credentials.
 */
function userParts({ user: { name, roles }, asker }: Replication): readonly unknown[] {
  if (roles.includes(SERVER_ADMIN_ROLE)) return [SERVER_ADMIN_ROLE];
  return [name, [...roles].sort(), ...(asker.isAdmin ? [SERVER_ADMIN_ROLE] : [])];
}
