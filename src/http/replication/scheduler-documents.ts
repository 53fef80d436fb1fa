/** `_scheduler/docs`: documents that request replications, and the state of these (docs/http/replication.md#list-of-replication-documents). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import {
  type ListedDocument,
  listDocument,
  listDocuments,
  parseStates,
} from '../../replication/documents/document-listing.ts';
import { findDocuments } from '../../replication/documents/stored-documents.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { jsonAnswer } from '../response/responses.ts';
import type { ReplicatorService } from './replicator-service.ts';

/** A part of the rows. */
export interface Part {
  readonly skip: number;
  readonly limit: number;
}

/** `path`: nothing, the database, or the database and a document's id. */
export async function getReplicationDocuments(
  service: ReplicatorService,
  context: Context,
  path: readonly string[],
  part: Part,
): Promise<Answer> {
  const [database = REPLICATOR_DATABASE, ...id] = path;
  if (database !== REPLICATOR_DATABASE) throw new DatabaseError('not_found', 'There is no such replicator database.');
  if (id.length > 0) return getOne(service, context, id.join('/'));
  const states = parseStates(context.query.get('states'));
  const rows: ListedDocument[] = [];
  let total = 0;
  for await (const batch of batches(service, context)) {
    const wanted = batch.filter(({ state }) => states === undefined || states.has(state));
    const from = Math.max(0, part.skip - total);
    rows.push(...wanted.slice(from, Math.max(from, part.skip + part.limit - total)));
    total += wanted.length;
  }
  return jsonAnswer(context, 200, JSON.stringify({ total_rows: total, offset: part.skip, docs: rows }));
}

/** Yields nothing if there is no such database yet. */
async function* batches(
  { documents }: ReplicatorService,
  { services: { registry } }: Context,
): AsyncGenerator<readonly ListedDocument[], void, void> {
  if (!registry.has(REPLICATOR_DATABASE)) return;
  const { database, release } = await registry.acquire(REPLICATOR_DATABASE);
  const snapshot = database.snapshot();
  try {
    yield* listDocuments(snapshot, (id) => documents.get(id));
  } finally {
    snapshot.release();
    release();
  }
}

async function getOne({ documents }: ReplicatorService, context: Context, id: string): Promise<Answer> {
  const { registry } = context.services;
  const found = registry.has(REPLICATOR_DATABASE)
    ? await withSnapshot(context, REPLICATOR_DATABASE, (snapshot) => findDocuments(snapshot, [parseDocId(id)]))
    : [];
  const document = found[0]?.document;
  if (document === undefined) throw new DatabaseError('not_found', 'missing');
  return jsonAnswer(context, 200, JSON.stringify(listDocument(id, document, documents.get(id))));
}
