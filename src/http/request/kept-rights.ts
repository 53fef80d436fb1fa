/**
 * Whether a user still has the right that a request was granted. What lasts (a response, an upload, or long work) checks again when
 * something that rights depend on has changed: a security object, an account, the configuration
 * (docs/http/accounts.md#rights-that-end).
 */
import { authorizeUser } from '../../accounts/access/access.ts';
import { isDatabaseAdmin } from '../../accounts/access/security.ts';
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { ByteStream, PlainHeaders, RequestUser } from '../../base/shared/message.ts';
import type { CommitRight } from '../../database/store/contract.ts';
import type { Context } from './context.ts';

/** Whether nothing has changed since the right was last found to hold: true in nearly all cases. */
export function isSurelyKept({ grant, services, rightsSeen }: Context): boolean {
  return grant === undefined || services.access.rightsVersion === rightsSeen;
}

/**
 * Fails with `unauthorized` if the right is lost. `needsAllRoles`: also if the user has lost any role since; by default only if
 * functions of documents were told the roles.
 */
export async function assertKept(context: Context, needsAllRoles = false): Promise<void> {
  while (!isSurelyKept(context)) {
    const { rightsVersion } = context.services.access;
    await check(context, needsAllRoles || context.isUserShown);
    context.rightsSeen = rightsVersion;
  }
}

/** The right to change a database; undefined if anyone has it. Functions and rules judge changes by the roles of their sender. */
export function commitRight(context: Context): CommitRight | undefined {
  return context.grant === undefined ? undefined : new RequestRight(context);
}

class RequestRight implements CommitRight {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  get isSurelyKept(): boolean {
    return isSurelyKept(this.#context);
  }

  assert(): Promise<void> {
    return assertKept(this.#context, true);
  }
}

async function check(context: Context, needsAllRoles: boolean): Promise<void> {
  const { grant, restriction, services } = context;
  const user = await currentUser(context);
  if (user === undefined) throw lost('The credentials of this request are no longer valid.');
  if (needsAllRoles && !context.user.roles.every((role) => user.roles.includes(role))) {
    throw lost('The user has lost a role since the request was sent. Send the request again.');
  }
  if (grant === undefined) return;
  try {
    const security = await authorizeUser(services.access, user, grant);
    // A reader of such a database without a restriction was admitted as an admin.
    const isAdmins =
      restriction === undefined && grant.database !== undefined && services.access.hasReadRestrictions(grant.database);
    if (isAdmins && !isDatabaseAdmin(user, security)) throw lost('You are not a db or server admin.');
  } catch (error) {
    // If a database is deleted, its responses end in their own way.
    if (!isDatabaseError(error, 'not_found')) throw error;
  }
}

/** Returns undefined if the credentials no longer hold. The service's own requests state by themselves whether their user still holds. */
function currentUser({ request, identity, user, services }: Context): MaybePromise<RequestUser | undefined> {
  const { access } = services;
  if (request.user !== undefined) return request.recheckUser === undefined ? request.user : request.recheckUser();
  if (access.requiresUser && user.name === null) return undefined;
  return identity === undefined ? access.withoutCredentials : identity.recheck();
}

/** The refusal for a user that had the right before. */
export function lost(reason: string): DatabaseError {
  return new DatabaseError('unauthorized', reason);
}

/**
 * A request body in transit: when it has arrived, which may be hours later, its sender must still have the right, and all roles, that the
 * request had when it began. Otherwise reading it fails, before anything is written.
 */
export class GrantedUpload implements ByteStream {
  readonly length?: number;
  readonly isMovable: boolean;
  readonly #stream: ByteStream;
  readonly #context: Context;

  constructor(stream: ByteStream, context: Context) {
    this.#stream = stream;
    this.#context = context;
    this.isMovable = stream.isMovable === true;
    if (stream.length !== undefined) this.length = stream.length;
  }

  get trailers(): PlainHeaders | undefined {
    return this.#stream.trailers;
  }

  /** Fails with `unauthorized` if the right was lost. */
  async pull(): Promise<Uint8Array | undefined> {
    const chunk = await this.#stream.pull();
    if (!isSurelyKept(this.#context)) await assertKept(this.#context, true);
    return chunk;
  }

  cancel(reason?: unknown): Promise<void> {
    return this.#stream.cancel(reason);
  }
}
