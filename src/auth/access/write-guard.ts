/**
 * Judges writes by who writes, whichever way they come: design documents are for admins of the database, and documents of users have rules
 * of their own. What passes goes to the validation functions.
 */
import type { Database, DocumentWrite, WriteGuard, WriteOptions } from '../../database/contract.ts';
import { isDesignId } from '../../documents/identifiers.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import { filterInSteps, inTurns, mapInSteps, someInSteps } from '../../shared/turn.ts';
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

const NO_REFUSALS: readonly Refusal[] = [];

export class AccessGuard implements WriteGuard {
  readonly #parts: AccessGuardParts;

  constructor(parts: AccessGuardParts) {
    this.#parts = parts;
  }

  get isNeeded(): boolean {
    return this.#isUsers || this.#parts.inner.isNeeded;
  }

  /** Documents of users are judged by those that are there: two writes at a time could both take a name that is free. */
  get isExclusive(): boolean {
    return this.#isUsers;
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
    if (!(await inTurns(someInSteps(refusals, isRefusal)))) return inner.validate(writes, options);
    const passed = await inTurns(filterInSteps(writes, (_write, index) => !isRefusal(refusals[index])));
    const verdicts = passed.length === 0 ? [] : await inner.validate(passed, options);
    let next = 0;
    return inTurns(mapInSteps(writes, (_write, index) => refusals[index] ?? verdicts[next++]));
  }

  get #isUsers(): boolean {
    return this.#parts.isUsersDatabase(this.#parts.database.name);
  }

  async #judge(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]> {
    const { database, users } = this.#parts;
    const ofUsers = this.#isUsers ? await (await users()).validate(database, writes, options) : NO_REFUSALS;
    if (this.#mayWriteDesigns(options)) return ofUsers;
    return inTurns(mapInSteps(writes, ({ id }, index) => (isDesignId(id) ? notAnAdmin() : ofUsers[index])));
  }

  #mayWriteDesigns({ user }: WriteOptions): boolean {
    const { security } = this.#parts.database;
    return user === undefined || isServerAdmin(user) || isDatabaseAdmin(user, parseSecurity(security));
  }
}

function isRefusal(refusal: Refusal): boolean {
  return refusal !== undefined;
}

export function notAnAdmin(): DatabaseError {
  return new DatabaseError('unauthorized', 'You are not a db or server admin.');
}
