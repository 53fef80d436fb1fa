/**
 * Checks writes to `_replicator`, before the validation functions of its design documents do: who may write which documents, and what they must
 * look like (docs/http/replication.md#writing-replication-documents).
 */
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import { findNode } from '../../database/documents/revisions/revision-tree.ts';
import { toRevision } from '../../database/documents/revisions/revisions.ts';
import type { Database, DatabaseUser, DocumentWrite, WriteOptions } from '../../database/store/contract.ts';
import type { DocumentSecrets } from './document-secrets.ts';
import { asksForTheSame, hasSameCredentials, hasTooManyMembers, MAX_MEMBERS } from './secret-members.ts';
import { parseBody, withMembers } from './state-members.ts';

const ADMIN_ROLE = '_admin';
/** The replicator's own role, which no one else can have: roles that begin with an underscore are the service's own. */
const REPLICATOR_ROLE = '_replicator';

/** The user as whom the replicator writes into documents. */
export const REPLICATOR: DatabaseUser = { name: null, roles: [REPLICATOR_ROLE, ADMIN_ROLE] };

/** A server admin; writes without a user have its rights. */
const NOBODY: DatabaseUser = { name: null, roles: [ADMIN_ROLE] };

/** Maximum length of a document in characters: the same as for a replication request. */
const MAX_LENGTH = 4_194_304;

/** Checks and completes the writes of `_replicator`. */
export interface ReplicationDocumentGuard {
  /** Returns the writes with what the service adds: each document has an owner, and its secrets are encrypted. */
  prepare(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly DocumentWrite[]>;
  /** Returns for each write why it is refused, or undefined. */
  validate(
    database: Database,
    writes: readonly DocumentWrite[],
    options: WriteOptions,
  ): Promise<readonly (DatabaseError | undefined)[]>;
}

export class StoredDocumentGuard implements ReplicationDocumentGuard {
  readonly #secrets: DocumentSecrets;

  constructor(secrets: DocumentSecrets) {
    this.#secrets = secrets;
  }

  async prepare(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly DocumentWrite[]> {
    const prepared: DocumentWrite[] = [];
    const timeSlice = new TimeSlice();
    for (const write of writes) {
      prepared.push(await this.#complete(write, options));
      if (timeSlice.isDue) await timeSlice.rest();
    }
    return prepared;
  }

  /** A replicated revision gets no owner: its name stands for its content. Its secrets are encrypted nevertheless. */
  async #complete(write: DocumentWrite, { newEdits, user = NOBODY }: WriteOptions): Promise<DocumentWrite> {
    if (isDesignId(write.id)) return write;
    // Otherwise a document of an earlier release, which its state made longer, would never be encrypted.
    const isChecked = !isReplicator(user);
    if (isChecked && isTooLong(write)) return write;
    const document = await parseBody(write.body);
    if (isChecked && hasTooManyMembers(document)) return write;
    const owner = newEdits && !write.deleted ? newOwner(document, user) : undefined;
    const owned = owner === undefined ? document : { ...(await this.#readable(write.id, document, user)), ...owner };
    const changed = new Map([...Object.entries(owner ?? {}), ...(await this.#secrets.seal(write.id, owned))]);
    return changed.size === 0
      ? write
      : { ...write, body: withMembers(write.body, new Set(changed.keys()), [...changed]) };
  }

  /** An admin becomes the owner of a document that had none, and its secrets are then those of this owner. */
  async #readable(id: string, document: JsonObject, { roles }: DatabaseUser): Promise<JsonObject> {
    if (!roles.includes(ADMIN_ROLE)) return document;
    try {
      return await this.#secrets.open(id, document);
    } catch (error) {
      if (isDatabaseError(error, 'bad_request')) return document;
      throw error;
    }
  }

  async validate(
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
        const before = body === undefined ? undefined : await parseBody(body);
        const refusal = isKnown ? undefined : await refusalOf(write, before, user);
        refusals.push(refusal ?? (newEdits ? await this.#unreadable(write) : undefined));
      }
      return refusals;
    } finally {
      snapshot.release();
    }
  }

  /** Refuses a secret that was copied from another document, or that is to be sent to another address. */
  async #unreadable({ id, body, deleted }: DocumentWrite): Promise<DatabaseError | undefined> {
    if (deleted || isDesignId(id)) return undefined;
    try {
      await this.#secrets.open(id, await parseBody(body));
      return undefined;
    } catch (error) {
      if (isDatabaseError(error, 'bad_request')) return forbidden(error.reason);
      throw error;
    }
  }
}

/** Whether a document is too long to be parsed; it is refused without parsing. */
function isTooLong({ id, body }: DocumentWrite): boolean {
  return body.length > MAX_LENGTH && !isDesignId(id);
}

async function refusalOf(
  write: DocumentWrite,
  before: JsonObject | undefined,
  user: DatabaseUser,
): Promise<DatabaseError | undefined> {
  if (isDesignId(write.id)) return undefined;
  if (isTooLong(write)) {
    const reason = `A replication document may have at most ${MAX_LENGTH} characters. Use a selector in place of a long list of ids.`;
    return new DatabaseError('too_large', reason);
  }
  const document = await parseBody(write.body);
  if (hasTooManyMembers(document)) {
    const reason = `A replication document may have at most ${MAX_MEMBERS} members in its headers and auth.`;
    return new DatabaseError('too_large', reason);
  }
  try {
    checkChange({ before, after: write.deleted ? undefined : document }, user);
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}

const OTHERS = "Can't update replication documents from other users.";

/** A document before and after a write; for a deletion `after` is undefined. */
interface DocumentChange {
  /** Undefined if there was none, or a deleted one. */
  readonly before: JsonObject | undefined;
  /** Undefined for a deletion. */
  readonly after: JsonObject | undefined;
}

export function isReplicator({ roles }: DatabaseUser): boolean {
  return roles.includes(REPLICATOR_ROLE);
}

/** Fails with `forbidden`. */
export function checkChange({ before, after }: DocumentChange, user: DatabaseUser): void {
  if (isReplicator(user)) return;
  const isAdmin = user.roles.includes(ADMIN_ROLE);
  if (after === undefined) {
    if (before !== undefined && !isAdmin && !mayDelete(before, user)) {
      throw forbidden('Replication documents can only be deleted by admins or by the users who created them.');
    }
    return;
  }
  if (
    before !== undefined &&
    ownMember(before, '_replication_state') === 'triggered' &&
    !renewsCredentials(before, after)
  ) {
    throw forbidden('Only the replicator can edit replication documents that are in the triggered state.');
  }
  checkMembers(after);
  checkUser(ownMember(after, 'user_ctx'), user, isAdmin);
  if (isAdmin) return;
  const isOthers = before !== undefined && ownMember(before, 'owner') !== user.name;
  if (isOthers || ownMember(after, 'owner') !== user.name) throw forbidden(OTHERS);
}

/** The running replication takes other credentials without an end. */
function renewsCredentials(before: JsonObject, after: JsonObject): boolean {
  return asksForTheSame(before, after) && !hasSameCredentials(before, after);
}

function mayDelete(document: JsonObject, { name }: DatabaseUser): boolean {
  const context = ownMember(document, 'user_ctx');
  const contextName = isObject(context) ? ownMember(context, 'name') : undefined;
  return name !== null && (ownMember(document, 'owner') === name || contextName === name);
}

function checkMembers(document: JsonObject): void {
  checkEndpoint(document, 'source');
  checkEndpoint(document, 'target');
  for (const name of ['create_target', 'continuous', 'design_docs']) {
    const value = ownMember(document, name);
    if (value !== undefined && typeof value !== 'boolean') throw forbidden(`The \`${name}' field must be a boolean.`);
  }
  const ids = ownMember(document, 'doc_ids');
  if (ids !== undefined && !(Array.isArray(ids) && ids.every((id) => typeof id === 'string'))) {
    throw forbidden("The `doc_ids' field must be an array of strings.");
  }
  const filter = ownMember(document, 'filter');
  if (filter !== undefined && (typeof filter !== 'string' || filter === '')) {
    throw forbidden("The `filter' field must be a non-empty string.");
  }
  const parameters = ownMember(document, 'query_params');
  if (parameters !== undefined && !isObject(parameters)) {
    throw forbidden("The `query_params' field must be an object.");
  }
}

function checkEndpoint(document: JsonObject, side: 'source' | 'target'): void {
  const endpoint = ownMember(document, side);
  if (typeof endpoint === 'string') return;
  if (!isObject(endpoint)) {
    throw forbidden(`The \`${side}' property must exist and be either a string or an object.`);
  }
  const url = ownMember(endpoint, 'url');
  if (typeof url !== 'string' || url === '') {
    throw forbidden(`The url property must exist in the \`${side}' field and must be a non-empty string.`);
  }
  for (const name of ['auth', 'headers']) {
    const value = ownMember(endpoint, name);
    if (value !== undefined && !isObject(value)) throw forbidden(`\`${side}.${name}' must be a non-null object.`);
  }
}

function checkUser(context: unknown, user: DatabaseUser, isAdmin: boolean): void {
  if (context === undefined) {
    if (isAdmin) return;
    throw forbidden("The `user_ctx' property is missing (it is optional for admins only).");
  }
  if (!isObject(context)) throw forbidden("The `user_ctx' property must be a non-null object.");
  const name = ownMember(context, 'name') ?? null;
  if (name !== null && (typeof name !== 'string' || name === '')) {
    throw forbidden("The `user_ctx.name' property must be a non-empty string or null.");
  }
  if (!isAdmin && name !== user.name) throw forbidden("The given `user_ctx.name' is not valid");
  const roles = ownMember(context, 'roles') ?? [];
  if (!Array.isArray(roles)) throw forbidden("The `user_ctx.roles' property must be an array of strings.");
  for (const role of roles) {
    if (typeof role !== 'string' || role === '') throw forbidden('Roles must be non-empty strings.');
    if (!isAdmin && !user.roles.includes(role)) throw forbidden(`Invalid role (\`${role}') in the \`user_ctx'`);
  }
}

/** Returns the document's owner after that user wrote it; undefined if the document names its owner. */
export function newOwner(document: JsonObject, user: DatabaseUser): { readonly owner: string | null } | undefined {
  const owner = ownMember(document, 'owner');
  if (isReplicator(user) || (owner !== undefined && owner !== null)) return undefined;
  return owner === user.name ? undefined : { owner: user.name };
}

function forbidden(reason: string): DatabaseError {
  return new DatabaseError('forbidden', reason);
}
