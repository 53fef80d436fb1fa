/** Reads documents of `_replicator`, and writes the state of their replications into them. */

import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { JsonObject } from '../../base/json/objects.ts';
import { runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import { REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import { toRevId } from '../../database/documents/revisions/revisions.ts';
import { splitAttachments } from '../../database/documents/stored-attachments.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { AttachmentWrite, Database, Snapshot, StoredNode } from '../../database/store/contract.ts';
import { REPLICATOR } from './document-guard.ts';
import { parseBody, type StateMembers, withState } from './state-members.ts';

/** Approximate number of bytes of bodies that are read at once. */
const BATCH_BYTES = 262_144;

/** The winner of a document; without `document` if it is deleted. */
export interface FoundDocument {
  readonly id: DocId;
  readonly rev: RevId;
  readonly document: JsonObject | undefined;
}

interface StoredBody {
  readonly rev: RevId;
  /** Undefined for a tombstone. */
  readonly body: string | undefined;
}

/** Returns the winners of those documents. Skips design documents, and documents that never existed. */
export async function findDocuments(snapshot: Snapshot, ids: readonly DocId[]): Promise<readonly FoundDocument[]> {
  const found: FoundDocument[] = [];
  for await (const some of documentBatches(snapshot, ids)) found.push(...some);
  return found;
}

/** As `findDocuments`, in batches: documents may be long. */
export async function* documentBatches(
  snapshot: Snapshot,
  ids: readonly DocId[],
): AsyncGenerator<readonly FoundDocument[], void, void> {
  const timeSlice = new TimeSlice();
  let batch: Winner[] = [];
  let bytes = 0;
  for await (const records of snapshot.documentBatches(ids.filter((id) => !isDesignId(id)))) {
    for (const record of records) {
      const node = record?.leaves[0];
      if (record === undefined || node === undefined) continue;
      batch.push({ id: record.id, node });
      bytes += node.body?.length ?? 0;
      if (bytes < BATCH_BYTES) continue;
      yield await readWinners(snapshot, batch, timeSlice);
      batch = [];
      bytes = 0;
    }
  }
  if (batch.length > 0) yield await readWinners(snapshot, batch, timeSlice);
}

interface Winner {
  readonly id: DocId;
  readonly node: StoredNode;
}

async function readWinners(
  snapshot: Snapshot,
  winners: readonly Winner[],
  timeSlice: TimeSlice,
): Promise<readonly FoundDocument[]> {
  const bodies = await snapshot.bodies(winners.map(({ node }) => node));
  const found: FoundDocument[] = [];
  for (const [index, { id, node }] of winners.entries()) {
    const body = node.deleted ? undefined : bodies[index];
    found.push({ id, rev: revOf(node), document: body === undefined ? undefined : await parseBody(body) });
    if (timeSlice.isDue) await timeSlice.rest();
  }
  return found;
}

/** Returns the winner of one document; undefined if it never existed, or was purged. */
export async function findDocument(database: Database, id: DocId): Promise<FoundDocument | undefined> {
  const snapshot = database.snapshot();
  try {
    return (await findDocuments(snapshot, [id]))[0];
  } finally {
    snapshot.release();
  }
}

/**
 * Writes these replication members, and no others, into that revision. Returns the new revision; undefined if someone else has
 * changed or deleted the document in the meantime, so that the members no longer describe it.
 */
export async function writeState(
  registry: Pick<Registry, 'use'>,
  id: DocId,
  rev: RevId,
  state: StateMembers,
): Promise<RevId | undefined> {
  return registry.use(REPLICATOR_DATABASE, async (database) => {
    const stored = await readWinner(database, id);
    if (stored?.rev !== rev || stored.body === undefined) return undefined;
    const { attachments, body } = await runCooperatively(splitAttachments(stored.body));
    const kept: readonly AttachmentWrite[] = attachments;
    const write = { id, rev, deleted: false, body: withState(body, state), attachments: kept };
    const options = { newEdits: true, durability: 'relaxed', user: REPLICATOR } as const;
    const [outcome] = await database.write([write], options);
    if (outcome === undefined || outcome.ok) return outcome?.rev;
    if (isDatabaseError(outcome.error, 'conflict')) return undefined;
    throw outcome.error;
  });
}

async function readWinner(database: Database, id: DocId): Promise<StoredBody | undefined> {
  const snapshot = database.snapshot();
  try {
    const winner = (await snapshot.document(id))?.leaves[0];
    if (winner === undefined) return undefined;
    return { rev: revOf(winner), body: winner.deleted ? undefined : await snapshot.body(winner) };
  } finally {
    snapshot.release();
  }
}

function revOf({ generation, hash }: StoredNode): RevId {
  return toRevId(generation, hash);
}
