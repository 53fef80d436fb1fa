/** The information about databases: about one, and about many at once (docs/http.md#database-information, docs/http.md#information-on-many-databases). */

import type { DatabaseInfo } from '../../database/contract.ts';
import { DatabaseError, isDatabaseError } from '../../errors/database-error.ts';
import { ownMember } from '../../json/objects.ts';
import { Pace } from '../../shared/turn.ts';
import { readObject } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { jsonAnswer } from '../response/responses.ts';

/** The information of many databases at once: `{keys: [name…]}`. */
export async function postDatabaseInfos(context: Context): Promise<Answer> {
  const keys = ownMember(await readObject(context), 'keys');
  if (!Array.isArray(keys)) throw new DatabaseError('bad_request', '`keys` member must exist.');
  const pace = new Pace();
  const infos: string[] = [];
  for (const key of keys) {
    infos.push(JSON.stringify(await infoOf(context, toName(key))));
    if (pace.isDue) await pace.rest();
  }
  return jsonAnswer(context, 200, `[${infos.join(',')}]`);
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

/** The information object in the interface's names. */
export function shownInfo(info: DatabaseInfo): Readonly<Record<string, string | number | boolean>> {
  return {
    db_name: info.name,
    doc_count: info.docCount,
    doc_del_count: info.docDelCount,
    update_seq: info.updateSeq,
    purge_seq: info.purgeSeq,
    compact_running: info.compactRunning,
    disk_size: info.diskSize,
    data_size: info.dataSize,
    instance_start_time: info.instanceStartTime,
    disk_format_version: info.diskFormatVersion,
    committed_update_seq: info.committedUpdateSeq,
  };
}
