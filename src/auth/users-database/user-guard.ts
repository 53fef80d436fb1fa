/** Looks at what is written into the users' database, whichever way it comes. */
import type { Database, DocumentWrite, WriteOptions } from '../../database/contract.ts';
import { isDesignId } from '../../documents/identifiers.ts';
import { findNode } from '../../documents/revisions/revision-tree.ts';
import { toRevision } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { isObject, type JsonObject } from '../../json/objects.ts';
import type { RequestUser } from '../../shared/message.ts';
import { isDatabaseAdmin, parseSecurity } from '../access/security.ts';
import { ADMIN_PARTY } from '../contract.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { withHashedPassword } from './user-passwords.ts';
import { checkUserChange, type Writer } from './user-rules.ts';

type Refusal = DatabaseError | undefined;

export class UserGuard {
  readonly #passwords: Passwords;

  constructor(passwords: Passwords) {
    this.#passwords = passwords;
  }

  /** With the hashes of passwords in their place. */
  async prepare(writes: readonly DocumentWrite[]): Promise<readonly DocumentWrite[]> {
    const prepared: DocumentWrite[] = [];
    for (const write of writes) {
      prepared.push(isDesignId(write.id) ? write : await withHashedPassword(write, this.#passwords));
    }
    return prepared;
  }

  /**
   * For each write why it is refused, or undefined. A write is judged by the document that is there, whatever revision it names: else a
   * replicated branch that begins anew would let anybody take a name over.
   */
  async validate(
    database: Database,
    writes: readonly DocumentWrite[],
    { newEdits, user = ADMIN_PARTY }: WriteOptions,
  ): Promise<readonly Refusal[]> {
    const writer = writerOf(database, user);
    const snapshot = database.snapshot();
    try {
      const records = await snapshot.documents(writes.map(({ id }) => id));
      const refusals: Refusal[] = [];
      for (const [index, write] of writes.entries()) {
        const leaves = records[index]?.leaves ?? [];
        // A replicated revision that is there already changes nothing.
        const isKnown = !newEdits && write.rev !== undefined && findNode(leaves, toRevision(write.rev)) !== undefined;
        const [winner] = leaves;
        const body = winner === undefined || winner.deleted ? undefined : await snapshot.body(winner);
        refusals.push(isKnown || isDesignId(write.id) ? undefined : refusalOf(write, parse(body), writer));
      }
      return refusals;
    } finally {
      snapshot.release();
    }
  }
}

function writerOf({ security }: Database, user: RequestUser): Writer {
  return { name: user.name, isAdmin: isDatabaseAdmin(user, parseSecurity(security)) };
}

function refusalOf(write: DocumentWrite, before: JsonObject | undefined, writer: Writer): Refusal {
  try {
    checkUserChange({ id: write.id, before, after: write.deleted ? undefined : (parse(write.body) ?? {}) }, writer);
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}

function parse(text: string | undefined): JsonObject | undefined {
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  return isObject(value) ? value : undefined;
}
