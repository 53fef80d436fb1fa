/** Checks writes to `_replicator`, before the validation functions of its design documents do. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { JsonObject } from '../../base/json/objects.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import { findNode } from '../../database/documents/revisions/revision-tree.ts';
import { toRevision } from '../../database/documents/revisions/revisions.ts';
import type { Database, DatabaseUser, DocumentWrite, WriteOptions } from '../../database/store/contract.ts';
import { checkChange, isReplicator, newOwner } from './document-rules.ts';
import { parseBody, withMembers } from './state-members.ts';

/** A server admin; writes without a user have its rights. */
const NOBODY: DatabaseUser = { name: null, roles: ['_admin'] };

const OWNER: ReadonlySet<string> = new Set(['owner']);
/** Maximum length of a document in characters: the same as for a replication request. */
const LONGEST = 4_194_304;

/** Checks and completes the writes of `_replicator`. */
export interface ReplicationDocumentGuard {
  /** Returns the writes with the members that the service adds: each document has an owner. */
  prepare(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly DocumentWrite[]>;
  /** Returns for each write why it is refused, or undefined. */
  validate(
    database: Database,
    writes: readonly DocumentWrite[],
    options: WriteOptions,
  ): Promise<readonly (DatabaseError | undefined)[]>;
}

export const replicationDocumentGuard: ReplicationDocumentGuard = { prepare, validate };

/** A replicated revision stays unchanged: its name stands for its content. */
async function prepare(
  writes: readonly DocumentWrite[],
  { newEdits, user = NOBODY }: WriteOptions,
): Promise<readonly DocumentWrite[]> {
  if (!newEdits) return writes;
  const prepared: DocumentWrite[] = [];
  const timeSlice = new TimeSlice();
  for (const write of writes) {
    prepared.push(await withOwner(write, user));
    if (timeSlice.isDue) await timeSlice.rest();
  }
  return prepared;
}

async function withOwner(write: DocumentWrite, user: DatabaseUser): Promise<DocumentWrite> {
  if (write.deleted || isDesignId(write.id) || isTooLong(write)) return write;
  const added = newOwner(await parseBody(write.body), user);
  return added === undefined ? write : { ...write, body: withMembers(write.body, OWNER, Object.entries(added)) };
}

async function validate(
  database: Database,
  writes: readonly DocumentWrite[],
  { newEdits, user = NOBODY }: WriteOptions,
): Promise<readonly (DatabaseError | undefined)[]> {
  if (isReplicator(user)) return writes.map(() => undefined);
  const snapshot = database.snapshot();
  try {
    const records = await snapshot.documents(writes.map(({ id }) => id));
    const refusals: (DatabaseError | undefined)[] = [];
    const timeSlice = new TimeSlice();
    for (const [index, write] of writes.entries()) {
      if (timeSlice.isDue) await timeSlice.rest();
      const leaves = records[index]?.leaves ?? [];
      // A replicated revision that already exists changes nothing.
      const isKnown = !newEdits && write.rev !== undefined && findNode(leaves, toRevision(write.rev)) !== undefined;
      const [winner] = leaves;
      const body = winner === undefined || winner.deleted ? undefined : await snapshot.body(winner);
      if (isKnown) refusals.push(undefined);
      else refusals.push(await refusalOf(write, body === undefined ? undefined : await parseBody(body), user));
    }
    return refusals;
  } finally {
    snapshot.release();
  }
}

/** Whether a document is too long to be parsed; it is refused without parsing. */
function isTooLong({ id, body }: DocumentWrite): boolean {
  return body.length > LONGEST && !isDesignId(id);
}

async function refusalOf(
  write: DocumentWrite,
  before: JsonObject | undefined,
  user: DatabaseUser,
): Promise<DatabaseError | undefined> {
  if (isDesignId(write.id)) return undefined;
  if (isTooLong(write)) {
    const reason = `A replication document may have ${LONGEST} characters. Ask for a long list of documents by a selector.`;
    return new DatabaseError('too_large', reason);
  }
  try {
    checkChange({ before, after: write.deleted ? undefined : await parseBody(write.body) }, user);
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}
