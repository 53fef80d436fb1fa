/** `_time_seq`: which changes were made when, as far as that is noted (docs/http/changes.md#times). */
import type { Database } from '../../../database/store/contract.ts';
import type { Answer, Context } from '../../request/context.ts';
import { jsonAnswer, okAnswer } from '../../response/responses.ts';
import type { AdministrationService } from './administration-service.ts';
import { NODE_NAME } from './node-requests.ts';

/** The family divides databases into ranges; a database here is one, the whole. */
const WHOLE_RANGE = '00000000-ffffffff';

export async function getTimeSeq(_service: AdministrationService, context: Context, database: string): Promise<Answer> {
  const rows = await context.useDatabase(database, changesByTime);
  return jsonAnswer(context, 200, JSON.stringify({ time_seq: { [WHOLE_RANGE]: { [NODE_NAME]: rows } } }));
}

/** Forgets the times: all existing changes then count as made now. */
export async function deleteTimeSeq(
  _service: AdministrationService,
  context: Context,
  database: string,
): Promise<Answer> {
  await context.useDatabase(database, (open) => open.resetTimes());
  return okAnswer(context, 200);
}

/** Returns the beginning of each stretch of time, and the number of sequence numbers that it has. The first stretch begins in 1970. */
function changesByTime({ timeMarks, updateSeq }: Database): readonly (readonly [string, number])[] {
  const starts = timeMarks.length === 0 ? [] : [{ seconds: 0, seq: 0 }, ...timeMarks];
  return starts.map(({ seconds, seq }, index) => {
    const next = starts[index + 1]?.seq ?? updateSeq;
    return [`${new Date(seconds * 1_000).toISOString().slice(0, 19)}Z`, Math.max(0, next - seq)];
  });
}
