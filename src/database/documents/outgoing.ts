/**
 * Documents as clients receive them: the members that begin with `_` before the stored body, whose text is passed on
 * unchanged. Nothing is parsed.
 */
import type { DocumentMeta } from './contract.ts';

interface OutgoingDocument {
  readonly id: string;
  readonly rev: string;
  readonly deleted: boolean;
  /** Minified JSON object text. */
  readonly body: string;
  /** Text of further members, each preceded by a comma (`metaText`). */
  readonly members?: string | undefined;
}

/** Returns the document's JSON text: `_id`, `_rev`, `_deleted` (only if true), then the further members, then the body's. */
export function writeDocument(document: OutgoingDocument): string {
  return writeQuoted(JSON.stringify(document.id), JSON.stringify(document.rev), document);
}

/** Like `writeDocument`, with an id and a revision that are JSON text already. */
export function writeQuoted(id: string, rev: string, document: Omit<OutgoingDocument, 'id' | 'rev'>): string {
  const { body, members = '' } = document;
  const head = `{"_id":${id},"_rev":${rev}`;
  const deleted = document.deleted ? ',"_deleted":true' : '';
  return body === '{}' ? `${head}${deleted}${members}}` : `${head}${deleted}${members},${body.slice(1)}`;
}

/**
 * Returns the members `_revisions`, `_revs_info`, `_local_seq`, `_conflicts`, `_deleted_conflicts` that `meta` has (the last two only if not
 * empty), as JSON text for `writeDocument`, each preceded by a comma; empty if it has none.
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
