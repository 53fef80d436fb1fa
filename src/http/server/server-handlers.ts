/** What the server says about itself (docs/http/server.md): its welcome, its running tasks and new uuids. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { joinInSteps, runCooperatively } from '../../base/shared/turn.ts';
import { integerSetting } from '../../base/system/config.ts';
import { VERSION } from '../../base/system/version.ts';
import type { Answer, Context } from '../request/context.ts';
import { parseCount } from '../request/parameter-values.ts';
import { jsonAnswer, tagOf, withHeader } from '../response/responses.ts';

export function getWelcome(context: Context): Answer {
  const uuid = context.services.registry.serverUuid;
  const welcome = { svc: 'Welcome', uuid, version: VERSION, vendor: { name: 'Settee', version: VERSION } };
  return jsonAnswer(context, 200, JSON.stringify(welcome));
}

/** Whether clients should use the service; while it shuts down, no request gets here. */
export function getUp(context: Context): Answer {
  const mode = context.services.config.get('svc', 'maintenance_mode') ?? 'false';
  if (mode !== 'false') {
    const status = mode === 'true' ? 'maintenance_mode' : mode;
    return jsonAnswer(context, 404, JSON.stringify({ status }));
  }
  const told = context.services.health?.();
  const status = told?.['status'] === undefined ? 200 : 503;
  return jsonAnswer(context, status, JSON.stringify({ status: 'ok', ...told }));
}

/** Those of all servers that share the databases. */
export async function getActiveTasks(context: Context): Promise<Answer> {
  const { tasks, sharing } = context.services;
  const found: unknown[] = [...tasks.list(), ...((await sharing?.tasks(context)) ?? [])];
  return jsonAnswer(context, 200, `[${await runCooperatively(joinInSteps(found, (task) => JSON.stringify(task)))}]`);
}

const LONG_AGO = 'Mon, 01 Jan 1990 00:00:00 GMT';

/** No cache may keep the response: an id that is returned twice is not unique. */
export async function getUuids(context: Context): Promise<Answer> {
  const { config, uuids } = context.services;
  const count = parseCount(context.query.get('count') ?? '1');
  if (count > (integerSetting(config, 'uuids', 'max_count') ?? Number.POSITIVE_INFINITY)) {
    throw new DatabaseError('forbidden', 'count parameter too large');
  }
  const text = JSON.stringify({ uuids: Array.from({ length: count }, () => uuids.next()) });
  const answer = jsonAnswer(context, 200, text);
  withHeader(answer, 'cache-control', 'no-cache');
  withHeader(answer, 'pragma', 'no-cache');
  withHeader(answer, 'expires', LONG_AGO);
  return withHeader(answer, 'etag', await tagOf([text]));
}
