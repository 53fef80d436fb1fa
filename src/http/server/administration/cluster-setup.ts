/**
 * `_cluster_setup`: where administration tools check whether a server is set up, and set it up (docs/http/server.md#nodes). This service
 * is one node, and needs only an admin and the system databases.
 */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { type JsonObject, ownMember } from '../../../base/json/objects.ts';
import { REPLICATOR_DATABASE } from '../../../base/system/contract.ts';
import { readObject } from '../../request/bodies.ts';
import { FEW_VALUES } from '../../request/body-bounds.ts';
import type { Answer, Context } from '../../request/context.ts';
import { jsonAnswer, okAnswer } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';
import { setAdmin } from './config-requests.ts';

const SYSTEM_DATABASES: readonly string[] = ['_users', REPLICATOR_DATABASE];

export function getClusterSetup(_service: AdministrationService, context: Context): Answer {
  const state = hasAdmin(context) ? 'single_node_enabled' : 'single_node_disabled';
  return jsonAnswer(context, 200, JSON.stringify({ state }));
}

/** Both actions may be repeated: what exists already stays as it is. */
export async function postClusterSetup(service: AdministrationService, context: Context): Promise<Answer> {
  const body = await readObject(context, FEW_VALUES);
  const action = ownMember(body, 'action');
  if (action !== 'enable_single_node' && action !== 'finish_cluster') throw refusalOf(action);
  if (!hasAdmin(context)) await setAdmin(service, context, ...adminOf(body));
  const { registry } = context.services;
  for (const name of SYSTEM_DATABASES) await registry.createIfMissing(name);
  return okAnswer(context, 201);
}

function hasAdmin({ services }: Context): boolean {
  return Object.keys(services.config.section('admins')).length > 0;
}

/** Fails with `bad_request` if the body names no one. */
function adminOf(body: JsonObject): [name: string, password: string] {
  const name = ownMember(body, 'username');
  const password = ownMember(body, 'password');
  if (typeof name === 'string' && name !== '' && typeof password === 'string' && password !== '') {
    return [name, password];
  }
  const reason = 'Cluster setup requires admin account to be configured: give username and password as strings.';
  throw new DatabaseError('bad_request', reason);
}

function refusalOf(action: unknown): DatabaseError {
  if (typeof action !== 'string') return new DatabaseError('bad_request', 'action must be a string.');
  const reason = `Invalid Action '${action.slice(0, 100)}': this service is a single node; send enable_single_node or finish_cluster.`;
  return new DatabaseError('bad_request', reason);
}
