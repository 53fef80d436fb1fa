/** What the service tells about what it does, and about many databases at once (interface.md 2.1; completion 20, 24). */
import { DatabaseError, isDatabaseError } from '../../errors/database-error.ts';
import { shownInfo } from '../database/database.ts';
import { readObject } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { ownMember } from '../request/own-member.ts';
import { jsonAnswer } from '../response/responses.ts';

export async function getActiveTasks(context: Context): Promise<Answer> {
  const tasks = await context.services.tasks();
  return jsonAnswer(context, 200, JSON.stringify(tasks.list()));
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
