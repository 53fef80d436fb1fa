/** Compaction and full commits (docs/http/databases.md#compaction). For indexes, see `views/index-handlers.ts`. */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { continueInBackground } from '../request/background-work.ts';
import { requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { parseCount } from '../request/parameter-values.ts';
import { jsonAnswer, okAnswer } from '../response/responses.ts';

/** Answers at once; the compaction continues, and joins one that is already running. */
export async function postCompact(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const lease = await context.services.registry.acquire(database);
  if (lease.database.compactRunning) {
    lease.release();
    return okAnswer(context, 202);
  }
  continueInBackground(context, `Compaction of ${database}`, lease.database.compact(), { end: lease.release });
  return okAnswer(context, 202);
}

/**
 * Resolves when everything written so far survives a power cut. `?seq=n` is checked but saves no work: a commit that assigned a sequence
 * number need not be durable yet.
 */
export async function postEnsureFullCommit(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const text = context.query.get('seq');
  const seq = text === undefined ? undefined : parseCount(text);
  const instanceStartTime = await context.useDatabase(database, async (open) => {
    if (seq !== undefined && seq > open.updateSeq) throw aheadOfUpdates();
    return open.flush();
  });
  return jsonAnswer(context, 201, JSON.stringify({ ok: true, instance_start_time: instanceStartTime }));
}

function aheadOfUpdates(): DatabaseError {
  return new DatabaseError('bad_request', "can't do a full commit ahead of current update_seq");
}
