/** Looks at what is written into `_replicator`, before the validation functions of its design documents do. */
import type { Database, DatabaseUser, DocumentWrite, WriteOptions } from '../../database/contract.ts';
import { isDesignId } from '../../documents/identifiers.ts';
import { findNode } from '../../documents/revisions/revision-tree.ts';
import { toRevision } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import type { JsonObject } from '../../json/objects.ts';
import { checkChange, isReplicator, newOwner } from './document-rules.ts';
import { parseBody, withMembers } from './state-members.ts';

/** A server admin, as writes without a user are. */
const NOBODY: DatabaseUser = { name: null, roles: ['_admin'] };

const OWNER: ReadonlySet<string> = new Set(['owner']);

/** What judges and completes the writes of `_replicator`. */
export interface ReplicationDocumentGuard {
  /** With the members that the service adds: each document has an owner. */
  prepare(writes: readonly DocumentWrite[], options: WriteOptions): readonly DocumentWrite[];
  /** For each write why it is refused, or undefined. */
  validate(
    database: Database,
    writes: readonly DocumentWrite[],
    options: WriteOptions,
  ): Promise<readonly (DatabaseError | undefined)[]>;
}

export const replicationDocumentGuard: ReplicationDocumentGuard = { prepare, validate };

/** A replicated revision stays as it is: its name stands for its content. */
function prepare(
  writes: readonly DocumentWrite[],
  { newEdits, user = NOBODY }: WriteOptions,
): readonly DocumentWrite[] {
  return newEdits ? writes.map((write) => withOwner(write, user)) : writes;
}

function withOwner(write: DocumentWrite, user: DatabaseUser): DocumentWrite {
  if (write.deleted || isDesignId(write.id)) return write;
  const added = newOwner(parseBody(write.body), user);
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
    for (const [index, write] of writes.entries()) {
      const leaves = records[index]?.leaves ?? [];
      // A replicated revision that is there already changes nothing.
      const isKnown = !newEdits && write.rev !== undefined && findNode(leaves, toRevision(write.rev)) !== undefined;
      const [winner] = leaves;
      const body = winner === undefined || winner.deleted ? undefined : await snapshot.body(winner);
      refusals.push(isKnown ? undefined : refusalOf(write, body === undefined ? undefined : parseBody(body), user));
    }
    return refusals;
  } finally {
    snapshot.release();
  }
}

function refusalOf(
  write: DocumentWrite,
  before: JsonObject | undefined,
  user: DatabaseUser,
): DatabaseError | undefined {
  if (isDesignId(write.id)) return undefined;
  try {
    checkChange({ before, after: write.deleted ? undefined : parseBody(write.body) }, user);
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}
