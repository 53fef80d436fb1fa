/** Checks writes to the users' database, whichever way they arrive. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject } from '../../base/json/objects.ts';
import { must } from '../../base/shared/assert.ts';
import type { Clock } from '../../base/shared/clock.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import { filterInSteps, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import { networkOf } from '../../base/system/network-of.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import { findNode } from '../../database/documents/revisions/revision-tree.ts';
import { compareRevisions, toRevision } from '../../database/documents/revisions/revisions.ts';
import type { Database, DocumentWrite, StoredNode, WriteOptions } from '../../database/store/contract.ts';
import { isDatabaseAdmin, parseSecurity } from '../access/security.ts';
import { ADMIN_PARTY, USER_PREFIX } from '../contract.ts';
import { AddressCounts, tooMany } from '../passwords/address-counts.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { hashOfUser } from '../passwords/stored-password.ts';
import { checkUserChange, type PlainPassword, readPassword, type Writer } from './user-documents.ts';

type Refusal = DatabaseError | undefined;

export interface PreparedWrites {
  readonly writes: readonly DocumentWrite[];
  /** The refused writes, and why. */
  readonly refused: ReadonlyMap<DocumentWrite, DatabaseError>;
}

const TOO_FAST = 'Too many accounts were created, or passwords set, from this address.';

/** Accounts that one address may create, or passwords it may have hashed, without waiting: more than people on one address need at once. */
const FREE_OF_ADDRESS = 50;

/** Characters of a document that a user other than an admin writes: far more than an account takes, and read in one step. */
const MAX_LENGTH_OF_USERS = 65_536;

export class UserGuard {
  readonly #passwords: Passwords;
  /** Accounts that were created, and passwords that were hashed. */
  readonly #counts: AddressCounts;

  constructor(passwords: Passwords, clock: Clock) {
    this.#passwords = passwords;
    this.#counts = new AddressCounts(clock, FREE_OF_ADDRESS);
  }

  /**
   * Returns the writes with passwords replaced by their hashes, and which of them are refused. No hash is computed for a write that `judge` refuses
   * with any hash, or that comes from an address that creates accounts or sets passwords too fast. Accounts that bring a hash, or have no password,
   * count towards that rate too.
   */
  async prepare(
    database: Database,
    writes: readonly DocumentWrite[],
    { user = ADMIN_PARTY, address = '' }: WriteOptions,
    judge: (writes: readonly DocumentWrite[]) => Promise<readonly Refusal[]>,
  ): Promise<PreparedWrites> {
    const timeSlice = new TimeSlice();
    const share = sharing();
    const writer = this.#writerOf(database, user);
    const refused = new Map<DocumentWrite, DatabaseError>();
    const read: (DocumentWrite | PlainPassword)[] = [];
    for (const write of writes) {
      if (timeSlice.isDue) await timeSlice.rest();
      if (isTooLong(write, writer)) refused.set(write, share(tooLong()));
      read.push(isDesignId(write.id) || refused.has(write) ? write : readPassword(write));
    }
    const placeholder = this.#passwords.placeholder();
    const bare = read.map((one) => ('withHash' in one ? one.withHash(placeholder) : one));
    const signUps = writer.isAdmin ? NONE : await newAccounts(database, writes);
    const judged = bare.filter((one, index) => one !== read[index] || signUps.has(one.id));
    const verdicts = judged.length === 0 ? [] : await judge(judged);
    for (const [index, verdict] of verdicts.entries()) {
      const write = judged[index];
      if (verdict !== undefined && write !== undefined) refused.set(write, share(verdict));
    }
    const network = networkOf(address);
    const prepared: DocumentWrite[] = [];
    for (const [index, one] of read.entries()) {
      const write = must(bare[index], 'there is one for each');
      if (timeSlice.isDue) await timeSlice.rest();
      const hasPassword = 'withHash' in one;
      const isCounted = !writer.isAdmin && !refused.has(write) && (hasPassword || signUps.has(write.id));
      if (isCounted && this.#counts.wait(network) > 0)
        refused.set(write, tooMany(TOO_FAST, this.#counts.wait(network)));
      else if (isCounted) this.#counts.add(network);
      if (!hasPassword || refused.has(write)) prepared.push(write);
      else prepared.push(one.withHash(await this.#passwords.hash(one.password, network)));
    }
    return { writes: prepared, refused };
  }

  /**
   * Returns for each write why it is refused, or undefined. A write is checked against the stored document, whatever revision it names: otherwise a
   * replicated branch with its own first revision would let anyone take a name over. Users who are logged in learn nothing of other users'
   * documents; a client that signs up learns that the name is taken. No other write may come between this and the write itself.
   */
  async validate(
    database: Database,
    writes: readonly DocumentWrite[],
    { newEdits, allOrNothing = false, user = ADMIN_PARTY }: WriteOptions,
  ): Promise<readonly Refusal[]> {
    const writer = this.#writerOf(database, user);
    const mayConflict = newEdits && !allOrNothing;
    const snapshot = database.snapshot();
    try {
      const records = await snapshot.documents(writes.map(({ id }) => id));
      const refusals: Refusal[] = [];
      const share = sharing();
      const timeSlice = new TimeSlice();
      for (const [index, write] of writes.entries()) {
        if (timeSlice.isDue) await timeSlice.rest();
        const leaves = records[index]?.leaves ?? [];
        // A replicated revision that already exists changes nothing.
        const isKnown = !newEdits && write.rev !== undefined && findNode(leaves, toRevision(write.rev)) !== undefined;
        if (isKnown || isDesignId(write.id)) refusals.push(undefined);
        else if (isTooLong(write, writer)) refusals.push(share(tooLong()));
        else if (isOfOther(write, writer)) refusals.push(share(new DatabaseError('not_found', 'missing')));
        else if (mayConflict && isConflict(write, leaves)) refusals.push(share(conflict()));
        else {
          const [winner] = leaves;
          const body = winner === undefined || winner.deleted ? undefined : await snapshot.body(winner);
          const refusal = refusalOf(write, parse(body), writer);
          if (refusal === undefined) this.#passwords.noteStored(hashOfUser(parse(write.body) ?? {}));
          refusals.push(refusal && share(refusal));
        }
      }
      return refusals;
    } finally {
      snapshot.release();
    }
  }

  #writerOf({ security }: Database, user: RequestUser): Writer {
    const isAdmin = isDatabaseAdmin(user, parseSecurity(security));
    return { name: user.name, isAdmin, iterations: this.#passwords.limits, ownPrf: this.#passwords.prf };
  }
}

/** Returns a function that gives equal refusals of one request the same error: a million of them, with a stack each, fill the memory. */
function sharing(): (refusal: DatabaseError) => DatabaseError {
  const known = new Map<string, DatabaseError>();
  return (refusal) => {
    // A kind of its own has more than its message.
    if (refusal.constructor !== DatabaseError) return refusal;
    const first = known.get(refusal.message);
    if (first === undefined) known.set(refusal.message, refusal);
    return first ?? refusal;
  };
}

const NONE: ReadonlySet<string> = new Set();

/** Returns the ids of the writes that create a document that does not exist, or was deleted. */
async function newAccounts(database: Database, writes: readonly DocumentWrite[]): Promise<ReadonlySet<string>> {
  const made = await runCooperatively(filterInSteps(writes, ({ id, deleted }) => !deleted && !isDesignId(id)));
  const snapshot = database.snapshot();
  try {
    const records = await snapshot.documents(made.map(({ id }) => id));
    const isNew = (_write: DocumentWrite, index: number) => records[index]?.leaves[0]?.deleted !== false;
    const written = await runCooperatively(filterInSteps(made, isNew));
    return new Set(written.map(({ id }) => id));
  } finally {
    snapshot.release();
  }
}

/** Whether the writer is logged in, is not an admin, and has no right to that document, whether or not it exists. */
function isOfOther({ id }: DocumentWrite, { name, isAdmin }: Writer): boolean {
  return !isAdmin && name !== null && id !== `${USER_PREFIX}${name}`;
}

function isTooLong({ id, body }: DocumentWrite, { isAdmin }: Writer): boolean {
  return !isAdmin && body.length > MAX_LENGTH_OF_USERS && !isDesignId(id);
}

function tooLong(): DatabaseError {
  const reason = `A document of a user may have at most ${MAX_LENGTH_OF_USERS} characters, unless an admin writes it. Keep other data in another database, or in attachments.`;
  return new DatabaseError('too_large', reason);
}

/** Whether the write is a conflict: also a sign-up with a name that is taken. */
function isConflict({ rev }: DocumentWrite, leaves: readonly StoredNode[]): boolean {
  if (rev === undefined) return leaves[0]?.deleted === false;
  const revision = toRevision(rev);
  return !leaves.some((leaf) => compareRevisions(leaf, revision) === 0);
}

function conflict(): DatabaseError {
  return new DatabaseError('conflict', 'Document update conflict.');
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
