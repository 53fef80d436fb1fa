/**
 * `_node/…` and `_membership`: what tools ask a server that could be one of several (docs/http/server.md#nodes). A server that shares its databases with
 * none has the name that CouchDB 2 and later give to single nodes.
 */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { Answer, Context } from '../../request/context.ts';
import { MethodNotAllowed } from '../../response/error-table.ts';
import { jsonAnswer } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';
import { answerNodeConfig } from './config-requests.ts';
import { answerPrometheus } from './prometheus.ts';
import { postRestart } from './restart.ts';
import { answerNodeStatistics } from './statistics.ts';

export const NODE_NAME = 'nonode@nohost';

export async function answerNode(
  service: AdministrationService,
  context: Context,
  _database: string,
  path: readonly string[],
): Promise<Answer> {
  const [name, what, ...rest] = path;
  if (name === undefined) throw missing();
  const { sharing } = context.services;
  const ownName = sharing?.name() ?? NODE_NAME;
  const isOwn = name === '_local' || name === NODE_NAME || name === ownName;
  if (!isOwn && sharing?.otherNames().includes(name) !== true)
    throw new DatabaseError('not_found', `no such node: ${name}`);
  // All servers have the same settings.
  if (what === '_config') return answerNodeConfig(service, context, rest);
  const told = isOwn ? undefined : sharing?.node(context, name, [what, ...rest]);
  if (told !== undefined) return told;
  if (what === '_restart') {
    if (context.method !== 'POST') throw new MethodNotAllowed('POST');
    return postRestart(service, context);
  }
  assertGet(context);
  if (what === '_stats') return answerNodeStatistics(context, rest);
  if (what === '_prometheus' && rest.length === 0) return answerPrometheus(context);
  if (what === '_system' && rest.length === 0) return answerSystem(context);
  if (what !== undefined) throw missing();
  return jsonAnswer(context, 200, JSON.stringify({ name: ownName }));
}

/** The rest of what CouchDB 2 and later report here is about their machine: its processes, schedulers and memory. */
function answerSystem(context: Context): Answer {
  const uptime = Math.floor(context.services.statistics.uptimeMs / 1_000);
  return jsonAnswer(context, 200, JSON.stringify({ uptime }));
}

export function getMembership(_service: AdministrationService, context: Context): Answer {
  const { sharing } = context.services;
  const names = [sharing?.name() ?? NODE_NAME, ...(sharing?.otherNames() ?? [])].sort();
  return jsonAnswer(context, 200, JSON.stringify({ all_nodes: names, cluster_nodes: names }));
}

/** Fails with `method_not_allowed`. */
function assertGet({ method }: Context): void {
  if (method !== 'GET') throw new MethodNotAllowed('GET');
}

function missing(): DatabaseError {
  return new DatabaseError('not_found', 'missing');
}
