import type { DocumentMeta } from './contract.ts';

/**
 * Of `_revisions`, `_revs_info`, `_local_seq`, `_conflicts`, `_deleted_conflicts` those that `meta` has (the last two only if not
 * empty), as JSON text for `writeDocument`, each with a comma in front; empty where it has none.
 */
export function metaText(meta: DocumentMeta): string {
  let text = '';
  if (meta.revisions !== undefined) {
    const { start, ids } = meta.revisions;
    text += `,"_revisions":{"start":${start},"ids":${JSON.stringify(ids)}}`;
  }
  if (meta.revsInfo !== undefined) {
    const infos = meta.revsInfo.map(({ rev, status }) => `{"rev":${JSON.stringify(rev)},"status":"${status}"}`);
    text += `,"_revs_info":[${infos.join(',')}]`;
  }
  if (meta.localSeq !== undefined) text += `,"_local_seq":${meta.localSeq}`;
  return text + writeRevs('_conflicts', meta.conflicts) + writeRevs('_deleted_conflicts', meta.deletedConflicts);
}

function writeRevs(name: string, revs: readonly string[] | undefined): string {
  return revs === undefined || revs.length === 0 ? '' : `,"${name}":${JSON.stringify(revs)}`;
}
