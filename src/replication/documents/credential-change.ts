/** Which replications go on from the same checkpoint after their document got other credentials. */
import { isObject, ownMember } from '../../base/json/objects.ts';
import { fromBase64Url } from '../../base/shared/bytes.ts';
import type { Credentials, Endpoint, Replication } from '../contract.ts';
import { replicationId } from '../jobs/replication-id.ts';

/** A replication that a document has asked for before. */
export interface FormerReplication {
  readonly replication: Replication;
  /** Of its checkpoints. */
  readonly checkpointId: string;
}

/** Whether both have the same id. The text of a filter, which is at the source, counts as unchanged. */
export async function isSameReplication(one: Replication, other: Replication): Promise<boolean> {
  const idOf = async (replication: Replication) => (await replicationId(replication, '')).full;
  return (await idOf(one)) === (await idOf(other));
}

/**
 * Returns the id of the checkpoints from which a replication continues if it has none of its own. The documents ask for the same, apart from
 * credentials. These must be of the same user, as far as they say who that is: others may see other documents.
 */
export function continuedCheckpoint(former: FormerReplication | undefined, next: Replication): string | undefined {
  if (former === undefined) return undefined;
  const { source, target } = former.replication;
  const isSame = mayBeSameUser(source, next.source) && mayBeSameUser(target, next.target);
  return isSame ? former.checkpointId : undefined;
}

function mayBeSameUser(one: Endpoint, other: Endpoint): boolean {
  if (one.kind === 'local' || other.kind === 'local') return one.kind === other.kind;
  const [former, next] = [userOf(one.credentials), userOf(other.credentials)];
  if (former === next) return true;
  return former === UNKNOWN ? next !== NOBODY : next === UNKNOWN && former !== NOBODY;
}

const NOBODY = Symbol('nobody');
const UNKNOWN = Symbol('unknown');

function userOf(credentials: Credentials | undefined): string | symbol {
  if (credentials === undefined) return NOBODY;
  if (credentials.kind === 'password') return credentials.name;
  if (credentials.kind === 'oauth') return credentials.token;
  const token = credentials.kind === 'bearer' ? credentials.token : undefined;
  return (token === undefined ? undefined : subjectOf(token)) ?? UNKNOWN;
}

/** Returns the user in a JWT (RFC 7519, 4.1.2); undefined for any other token. */
function subjectOf(token: string): string | undefined {
  const [, payload = ''] = token.split('.');
  const bytes = fromBase64Url(payload);
  try {
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    const subject = isObject(claims) ? ownMember(claims, 'sub') : undefined;
    return typeof subject === 'string' ? subject : undefined;
  } catch {
    return undefined;
  }
}
