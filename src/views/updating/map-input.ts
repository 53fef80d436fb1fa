import type { DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { isDesignId } from '../../documents/identifiers.ts';
import { metaText, writeDocument } from '../../documents/outgoing.ts';
import { toRevId } from '../../documents/revisions/revisions.ts';
import { must } from '../../shared/assert.ts';
import type { GroupDefinition } from '../definition.ts';

/** A batch of documents, sorted by what is to be done with them. */
export interface MapInput {
  /** Those that map functions see, and their texts. */
  readonly ids: readonly DocId[];
  readonly texts: readonly string[];
  /** Those that emit nothing: deleted ones, and design documents unless a view wants them. */
  readonly empty: readonly DocId[];
}

/** Reads changed documents as they are in the snapshot. */
export async function readChanged(
  snapshot: Snapshot,
  ids: readonly DocId[],
  definition: GroupDefinition,
): Promise<MapInput> {
  const wanted = ids.filter((id) => isWanted(id, definition));
  const empty = wanted.length === ids.length ? [] : ids.filter((id) => !isWanted(id, definition));
  const found = await snapshot.documents(wanted);
  const live: DocumentRecord[] = [];
  for (const [index, record] of found.entries()) {
    if (record?.leaves[0]?.deleted === false) live.push(record);
    else empty.push(must(wanted[index]));
  }
  return { ...(await readBodies(snapshot, live, definition)), empty };
}

/** Reads live documents whose records are at hand. */
export async function readBodies(
  snapshot: Snapshot,
  records: readonly DocumentRecord[],
  { localSeq }: GroupDefinition,
): Promise<Pick<MapInput, 'ids' | 'texts'>> {
  const bodies = await snapshot.bodies(records.map(({ leaves }) => must(leaves[0])));
  return {
    ids: records.map(({ id }) => id),
    texts: records.map((record, index) => documentText(record, bodies[index] ?? '{}', localSeq)),
  };
}

/** Whether map functions see the document, if it is live. */
export function isWanted(id: DocId, { includeDesign }: GroupDefinition): boolean {
  return includeDesign || !isDesignId(id);
}

/** The document as map functions get it (completion.md 10). */
function documentText({ id, leaves, seq }: DocumentRecord, body: string, localSeq: boolean): string {
  const winner = must(leaves[0]);
  const rev = toRevId(winner.generation, winner.hash);
  if (leaves.length === 1 && !localSeq) return writeDocument({ id, rev, deleted: false, body });
  const members = metaText({
    localSeq: localSeq ? seq : undefined,
    conflicts: revsOf(leaves, false),
    deletedConflicts: revsOf(leaves, true),
  });
  return writeDocument({ id, rev, deleted: false, body, members });
}

/** The revisions of losing leaves. */
function revsOf(leaves: readonly StoredNode[], deleted: boolean): RevId[] {
  return leaves
    .slice(1)
    .filter((leaf) => leaf.deleted === deleted)
    .map(({ generation, hash }) => toRevId(generation, hash));
}
