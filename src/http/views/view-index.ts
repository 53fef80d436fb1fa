/** Indexes of views: what they take, their compaction and clean-up (interface.md 2.7; completion 11). */
import { DatabaseError } from '../../errors/database-error.ts';
import type { ViewGroupInfo } from '../../views/contract.ts';
import { isEnded } from '../database/upkeep.ts';
import { requireJsonType } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { jsonAnswer, okAnswer } from '../response/responses.ts';
import { withDesignGroup } from './view-group.ts';

export function getIndexInfo(context: Context, database: string, rest: readonly string[]): Promise<Answer> {
  const name = rest.join('/');
  return withDesignGroup(context, database, name, async (held) => {
    const info = await held.group.info();
    held.release();
    return jsonAnswer(context, 200, JSON.stringify({ name, view_index: shownInfo(info) }));
  });
}

function shownInfo(info: ViewGroupInfo): Readonly<Record<string, string | number | boolean>> {
  return {
    signature: info.signature,
    language: info.language,
    disk_size: info.diskSize,
    data_size: info.dataSize,
    updater_running: info.updaterRunning,
    compact_running: info.compactRunning,
    waiting_commit: info.waitingCommit,
    waiting_clients: info.waitingClients,
    update_seq: info.updateSeq,
    purge_seq: info.purgeSeq,
  };
}

/** Answers at once; the compaction goes on, and joins one that runs. */
export async function postCompactViews(context: Context, database: string, rest: readonly string[]): Promise<Answer> {
  requireJsonType(context);
  const { log } = context.services;
  const name = rest.join('/');
  return withDesignGroup(context, database, name, async (held) => {
    void held.group
      .compact()
      .catch((error: unknown) => {
        if (isEnded(error)) return;
        if (!(error instanceof DatabaseError) || error.code.startsWith('storage_')) {
          log.error(`Compaction of the index of _design/${name} in ${database} failed`, error);
        }
      })
      .finally(held.release);
    return okAnswer(context, 202);
  });
}

/** Resolves when the indexes that nobody has any more are gone. */
export async function postViewCleanup(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const { registry, views } = context.services;
  await registry.use(database, (open) => views.cleanup(open));
  return okAnswer(context, 202);
}
