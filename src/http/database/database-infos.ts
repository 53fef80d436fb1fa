/** Information on many databases at once (docs/http/server.md#information-on-many-databases). */
import { authorizeUser } from '../../accounts/access/authorization.ts';
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { ownMember } from '../../base/json/objects.ts';
import { mapInSteps, runCooperatively } from '../../base/shared/turn.ts';
import { readListQuery } from '../documents/lists/list-parameters.ts';
import { readObject } from '../request/bodies.ts';
import { NAMES } from '../request/body-bounds.ts';
import type { Answer, Context } from '../request/context.ts';
import { textAnswer } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { shownInfo } from './database-info.ts';
import { namesOf } from './database-names.ts';

/** Returns information on all databases, or on those in the range of names of the query. */
export async function getDatabaseInfos(context: Context): Promise<Answer> {
  const parameters = await readListQuery(context);
  return answerInfos(context, parameters.keys ?? namesOf(context.services.registry.names(), parameters));
}

/** Returns information on those that the body names: `{keys: [name…]}`. */
export async function postDatabaseInfos(context: Context): Promise<Answer> {
  const keys = ownMember(await readObject(context, NAMES), 'keys');
  if (!Array.isArray(keys)) throw new DatabaseError('bad_request', '`keys` member must exist.');
  return answerInfos(context, keys);
}

async function answerInfos(context: Context, keys: readonly unknown[]): Promise<Answer> {
  const names = await runCooperatively(mapInSteps(keys, toName));
  return textAnswer(context, 200, await streamedBody(context, infosText(context, names), () => undefined));
}

/** Yields the text while it is sent: the body may repeat a name very often. */
async function* infosText(context: Context, names: readonly string[]): AsyncGenerator<string, void, void> {
  let separator = '[';
  for (const name of names) {
    yield separator + JSON.stringify(await infoOf(context, name));
    separator = ',';
  }
  yield separator === '[' ? '[]\n' : ']\n';
}

function toName(key: unknown): string {
  if (typeof key === 'string') return key;
  throw new DatabaseError('bad_request', '`keys` must be a JSON list of database names.');
}

async function infoOf(context: Context, key: string): Promise<unknown> {
  try {
    await authorizeUser(context.services.access, context.user, { right: 'member', database: key });
    const info = await context.useDatabase(key, (open) => open.info());
    return { key, info: shownInfo(info) };
  } catch (error) {
    for (const word of ['not_found', 'unauthorized'] as const)
      if (isDatabaseError(error, word)) return { key, error: word };
    throw error;
  }
}
