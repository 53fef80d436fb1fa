/**
 * Judges writes by who writes, whichever way they come: design documents are for admins of the database, and documents of users have rules
 * of their own. What passes goes to the validation functions.
 */
import type { Database, DocumentWrite, WriteGuard, WriteOptions } from '../../database/contract.ts';
import { isDesignId } from '../../documents/identifiers.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { isDatabaseAdmin, isServerAdmin, parseSecurity } from './security.ts';

/** The rules of the users' database. */
export interface UserWrites {
  /** The writes as they are kept: without plain passwords. */
  prepare(writes: readonly DocumentWrite[]): Promise<readonly DocumentWrite[]>;
  /** For each write why it is refused, or undefined. */
  validate(database: Database, writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]>;
}

interface AccessGuardParts {
  readonly database: Database;
  /** What validates the writes that pass. */
  readonly inner: WriteGuard;
  readonly users: () => MaybePromise<UserWrites>;
  readonly isUsersDatabase: (name: string) => boolean;
}

type Refusal = DatabaseError | undefined;

export class AccessGuard implements WriteGuard {
  readonly #parts: AccessGuardParts;

  constructor(parts: AccessGuardParts) {
    this.#parts = parts;
  }

  get isNeeded(): boolean {
    return this.#isUsers || this.#parts.inner.isNeeded;
  }

  designsChanged(): void {
    this.#parts.inner.designsChanged();
  }

  prepare(writes: readonly DocumentWrite[], options: WriteOptions): MaybePromise<readonly DocumentWrite[]> {
    const { inner, users } = this.#parts;
    const prepared = this.#isUsers ? whenReady(users(), (rules) => rules.prepare(writes)) : writes;
    return whenReady(prepared, (made) => inner.prepare?.(made, options) ?? made);
  }

  async validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]> {
    const { inner } = this.#parts;
    const refusals = await this.#judge(writes, options);
    if (!refusals.some((refusal) => refusal !== undefined)) return inner.validate(writes, options);
    const passed = writes.filter((_write, index) => refusals[index] === undefined);
    const verdicts = passed.length === 0 ? [] : await inner.validate(passed, options);
    let next = 0;
    return refusals.map((refusal) => refusal ?? verdicts[next++]);
  }

  get #isUsers(): boolean {
    return this.#parts.isUsersDatabase(this.#parts.database.name);
  }

  async #judge(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]> {
    const { database, users } = this.#parts;
    const ofDesigns = this.#refuseDesigns(writes, options);
    if (!this.#isUsers) return ofDesigns;
    const rules = await users();
    const ofUsers = await rules.validate(database, writes, options);
    return ofDesigns.map((refusal, index) => refusal ?? ofUsers[index]);
  }

  #refuseDesigns(writes: readonly DocumentWrite[], { user }: WriteOptions): readonly Refusal[] {
    const { security } = this.#parts.database;
    const mayWrite = user === undefined || isServerAdmin(user) || isDatabaseAdmin(user, parseSecurity(security));
    return writes.map(({ id }) => (mayWrite || !isDesignId(id) ? undefined : notAnAdmin()));
  }
}

export function notAnAdmin(): DatabaseError {
  return new DatabaseError('unauthorized', 'You are not a db or server admin.');
}
