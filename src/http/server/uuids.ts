/** `GET /_uuids` (docs/http/server.md#uuids). */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { Answer, Context } from '../request/context.ts';
import { parseCount } from '../request/parameter-values.ts';
import { tagOf } from '../response/etags.ts';
import { jsonAnswer, withHeader } from '../response/responses.ts';

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
