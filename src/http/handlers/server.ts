/** What the server tells about itself and its databases (interface.md 2.1, 4.1; completion 3, 20, 24). */
import { DatabaseError, isDatabaseError } from '../../errors/database-error.ts';
import { VERSION } from '../../system/version.ts';
import { ownMember, readObject } from '../bodies.ts';
import type { Answer, Context } from '../context.ts';
import { jsonAnswer } from '../responses.ts';
import { shownInfo } from './database.ts';

export function getWelcome(context: Context): Answer {
  const uuid = context.services.registry.serverUuid;
  const welcome = { svc: 'Welcome', uuid, version: VERSION, vendor: { name: 'Settee', version: VERSION } };
  return jsonAnswer(context, 200, JSON.stringify(welcome));
}

export function getAllDatabases(context: Context): Answer {
  return jsonAnswer(context, 200, JSON.stringify(context.services.registry.names()));
}

export function getActiveTasks(context: Context): Answer {
  return jsonAnswer(context, 200, JSON.stringify(context.services.tasks.list()));
}

/** Whether the service answers at all; while it shuts down nothing gets here. */
export function getUp(context: Context): Answer {
  return jsonAnswer(context, 200, '{"status":"ok"}');
}

/** The information of many databases at once: `{keys: [name…]}`. */
export async function postDatabaseInfos(context: Context): Promise<Answer> {
  const keys = ownMember(await readObject(context), 'keys');
  if (!Array.isArray(keys)) throw new DatabaseError('bad_request', '`keys` member must exist.');
  const infos: unknown[] = [];
  for (const key of keys) infos.push(await infoOf(context, toName(key)));
  return jsonAnswer(context, 200, JSON.stringify(infos));
}

function toName(key: unknown): string {
  if (typeof key === 'string') return key;
  throw new DatabaseError('bad_request', '`keys` must be a JSON list of database names.');
}

async function infoOf(context: Context, key: string): Promise<unknown> {
  try {
    const info = await context.services.registry.use(key, (open) => open.info());
    return { key, info: shownInfo(info) };
  } catch (error) {
    if (isDatabaseError(error, 'not_found')) return { key, error: 'not_found' };
    throw error;
  }
}
