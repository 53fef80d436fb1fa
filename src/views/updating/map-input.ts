import type { DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { isDesignId } from '../../documents/identifiers.ts';
import { metaText, writeDocument } from '../../documents/outgoing.ts';
import { toRevId } from '../../documents/revisions/revisions.ts';
import { must } from '../../shared/assert.ts';
import type { GroupDefinition } from '../trees/definition.ts';

/** A batch of documents for the map functions. */
export interface MapInput {
  /** The documents that are mapped. */
  readonly ids: readonly DocId[];
  readonly texts: readonly string[];
  /** Documents that have no rows: deleted ones, and design documents unless the definition includes them. */
  readonly empty: readonly DocId[];
}

/** Reads documents of these ids as they are in the snapshot. */
export async function readChanged(
  snapshot: Snapshot,
  ids: readonly DocId[],
  definition: GroupDefinition,
): Promise<MapInput> {
  const mapped = ids.filter((id) => isMapped(id, definition));
  const empty = mapped.length === ids.length ? [] : ids.filter((id) => !isMapped(id, definition));
  const found = await snapshot.documents(mapped);
  const live: DocumentRecord[] = [];
  for (const [index, record] of found.entries()) {
    if (record?.leaves[0]?.deleted === false) live.push(record);
    else empty.push(must(mapped[index]));
  }
  return { ...(await readBodies(snapshot, live, definition)), empty };
}

/** Reads the bodies of live documents. */
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

/** Whether a document with this id is mapped, if it is not deleted. */
export function isMapped(id: DocId, { includeDesign }: GroupDefinition): boolean {
  return includeDesign || !isDesignId(id);
}

/** The text of a document for map functions (docs/http.md#map-functions). */
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

/** The revisions of the leaves that are not the winner. */
function revsOf(leaves: readonly StoredNode[], deleted: boolean): RevId[] {
  return leaves
    .slice(1)
    .filter((leaf) => leaf.deleted === deleted)
    .map(({ generation, hash }) => toRevId(generation, hash));
}
