import { must } from '../../../base/shared/assert.ts';
import type { DocId, RevId } from '../../../database/documents/contract.ts';
import { isDesignId } from '../../../database/documents/identifiers.ts';
import { metaText, writeDocument } from '../../../database/documents/outgoing.ts';
import { toRevId } from '../../../database/documents/revisions/revisions.ts';
import type { DocumentRecord, Snapshot, StoredNode } from '../../../database/store/contract.ts';
import type { LongDocument } from '../../sandbox/contract.ts';
import type { GroupDefinition } from '../trees/definition.ts';

/** A document with a longer body is read in pieces. */
const LONG_BODY_BYTES = 1024 * 1024;

/** Documents for the map functions, and their texts. */
export interface MapInput {
  readonly ids: readonly DocId[];
  readonly texts: readonly string[];
  /** The only document, if it is long. It has no text. */
  readonly long?: LongDocument;
}

/** Documents that have changed. */
interface ChangedDocuments {
  readonly live: readonly DocumentRecord[];
  /** Documents that have no rows: deleted ones, and design documents unless the definition includes them. */
  readonly empty: readonly DocId[];
}

/** Reads documents of these ids as they are in the snapshot. */
export async function readChanged(
  snapshot: Snapshot,
  ids: readonly DocId[],
  definition: GroupDefinition,
): Promise<ChangedDocuments> {
  const mapped = ids.filter((id) => isMapped(id, definition));
  const empty = mapped.length === ids.length ? [] : ids.filter((id) => !isMapped(id, definition));
  const found = await snapshot.documents(mapped);
  const live: DocumentRecord[] = [];
  for (const [index, record] of found.entries()) {
    if (record?.leaves[0]?.deleted === false) live.push(record);
    else empty.push(must(mapped[index]));
  }
  return { live, empty };
}

/** Returns the size of what is mapped of a document. */
export function bodyBytes({ leaves }: DocumentRecord): number {
  return leaves[0]?.body?.length ?? 0;
}

/** Cuts a list into parts whose bodies have about `mostBytes` bytes, or a single document if that alone has more. */
export function cutByBytes(records: readonly DocumentRecord[], mostBytes: number): (readonly DocumentRecord[])[] {
  const parts: DocumentRecord[][] = [];
  let part: DocumentRecord[] = [];
  let bytes = 0;
  for (const record of records) {
    if (part.length > 0 && bytes + bodyBytes(record) > mostBytes) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(record);
    bytes += bodyBytes(record);
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/** Returns the single long document as input for a mapper that reads it in pieces; undefined for any others. */
export function longInput(
  snapshot: Snapshot,
  records: readonly DocumentRecord[],
  { localSeq }: GroupDefinition,
): MapInput | undefined {
  const [record] = records;
  if (record === undefined || records.length > 1 || bodyBytes(record) <= LONG_BODY_BYTES) return undefined;
  const { id } = record;
  return { ids: [id], texts: [], long: { id, pieces: () => documentPieces(snapshot, record, localSeq) } };
}

/** Reads the bodies of live documents. */
export async function readBodies(
  snapshot: Snapshot,
  records: readonly DocumentRecord[],
  { localSeq }: GroupDefinition,
): Promise<MapInput> {
  const bodies = await snapshot.bodies(records.map(({ leaves }) => must(leaves[0])));
  return {
    ids: records.map(({ id }) => id),
    texts: records.map((record, index) => documentText(record, bodies[index] ?? '{}', localSeq)),
  };
}

/** Returns whether a document with this id is mapped, if it is not deleted. */
export function isMapped(id: DocId, { includeDesign }: GroupDefinition): boolean {
  return includeDesign || !isDesignId(id);
}

/** Returns the text of a document for map functions (docs/http/functions.md#map-functions). */
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

/** Yields the same text in pieces. A long body has members. */
async function* documentPieces(snapshot: Snapshot, record: DocumentRecord, localSeq: boolean): AsyncGenerator<string> {
  let isFirst = true;
  for await (const piece of snapshot.bodyPieces(must(record.leaves[0]))) {
    yield isFirst ? documentText(record, piece, localSeq) : piece;
    isFirst = false;
  }
}

/** Returns the revisions of the leaves that are not the winner. */
function revsOf(leaves: readonly StoredNode[], deleted: boolean): RevId[] {
  return leaves
    .slice(1)
    .filter((leaf) => leaf.deleted === deleted)
    .map(({ generation, hash }) => toRevId(generation, hash));
}
