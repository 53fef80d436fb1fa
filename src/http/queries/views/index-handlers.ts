/** Indexes of views: their size, compaction and clean-up (docs/http/views.md#view-indexes). */
import { isDatabaseError } from '../../../base/errors/database-error.ts';
import type { ViewGroupInfo, ViewIndexes } from '../../../queries/views/contract.ts';
import { continueInBackground } from '../../request/background-work.ts';
import { requireJsonType } from '../../request/bodies.ts';
import type { Answer, Context } from '../../request/context.ts';
import { jsonAnswer, okAnswer } from '../../response/responses.ts';
import { withDesignGroup } from './view-group-lease.ts';

export function getIndexInfo(
  views: ViewIndexes,
  context: Context,
  database: string,
  rest: readonly string[],
): Promise<Answer> {
  const name = rest.join('/');
  return withDesignGroup(views, context, database, name, async (lease) => {
    const info = await lease.group.info();
    lease.release();
    return jsonAnswer(context, 200, JSON.stringify({ name, view_index: shownInfo(info) }));
  });
}

function shownInfo(info: ViewGroupInfo): Readonly<Record<string, unknown>> {
  return {
    signature: info.signature,
    language: info.language,
    disk_size: info.diskSize,
    data_size: info.dataSize,
    // In the format of later versions, without which their administration tools show nothing at all.
    sizes: { file: info.diskSize, external: info.dataSize, active: info.dataSize },
    updater_running: info.updaterRunning,
    compact_running: info.compactRunning,
    waiting_commit: info.waitingCommit,
    waiting_clients: info.waitingClients,
    update_seq: info.updateSeq,
    purge_seq: info.purgeSeq,
    ...(info.documentsLeftOut > 0 ? { documents_left_out: info.documentsLeftOut } : {}),
  };
}

/** Answers at once; the compaction continues, and joins one that is already running. */
export async function postCompactViews(
  views: ViewIndexes,
  context: Context,
  database: string,
  rest: readonly string[],
): Promise<Answer> {
  requireJsonType(context);
  const name = rest.join('/');
  return withDesignGroup(views, context, database, name, async (lease) => {
    const what = `Compaction of the index of _design/${name} in ${database}`;
    continueInBackground(context, what, lease.group.compact(), { end: lease.release, isExpected: isOfDesign });
    return okAnswer(context, 202);
  });
}

/** Failures of the design document's functions are returned to clients that query the view. */
function isOfDesign(failure: unknown): boolean {
  return isDatabaseError(failure) && !failure.code.startsWith('storage_');
}

/** Resolves when the indexes that no design document uses any more are deleted. */
export async function postViewCleanup(views: ViewIndexes, context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  await context.useDatabase(database, (open) => views.cleanup(open));
  return okAnswer(context, 202);
}
