/** Compaction and full commits (completion 11, 13). Indexes: see `view-index.ts`. */
import { DatabaseError, isDatabaseError } from '../../errors/database-error.ts';
import { requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { parseCount } from '../request/parameter-values.ts';
import { jsonAnswer, okAnswer } from '../response/responses.ts';

/** Answers at once; the compaction goes on, and joins one that runs. */
export async function postCompact(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const { registry, log } = context.services;
  const lease = await registry.acquire(database);
  if (lease.database.compactRunning) {
    lease.release();
    return okAnswer(context, 202);
  }
  void lease.database
    .compact()
    .catch((error: unknown) => {
      if (!isEnded(error)) log.error(`Compaction of ${database} failed`, error);
    })
    .finally(() => lease.release());
  return okAnswer(context, 202);
}

/** Nothing went wrong where what is compacted was deleted or closed meanwhile. */
export function isEnded(error: unknown): boolean {
  return isDatabaseError(error, 'storage_deleted') || isDatabaseError(error, 'storage_closed');
}

/**
 * Resolves when all that was written survives a power cut. `?seq=n` must have been given out; it spares nothing, since a commit
 * that is known may be a relaxed one.
 */
export async function postEnsureFullCommit(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const text = context.query.get('seq');
  const seq = text === undefined ? undefined : parseCount(text);
  const instanceStartTime = await context.services.registry.use(database, async (open) => {
    if (seq !== undefined && seq > open.updateSeq) throw aheadOfUpdates();
    return open.flush();
  });
  return jsonAnswer(context, 201, JSON.stringify({ ok: true, instance_start_time: instanceStartTime }));
}

function aheadOfUpdates(): DatabaseError {
  return new DatabaseError('bad_request', "can't do a full commit ahead of current update_seq");
}
