/**
 * Checks whether the user may make a write, from HTTP or a replication: only admins of the database may write design documents, and user documents have
 * rules of their own. Writes that pass go to the validation functions.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { filterInSteps, mapInSteps, runCooperatively, someInSteps } from '../../base/shared/turn.ts';
import { isDesignId } from '../../database/documents/identifiers.ts';
import type { Database, DocumentWrite, WriteGuard, WriteOptions } from '../../database/store/contract.ts';
import { isDatabaseAdmin, isServerAdmin, parseSecurity } from './security.ts';

/** The rules of the users' database. */
export interface UserWrites {
  /** Returns the writes as they are stored, without plain passwords, and which of them are already refused. `judge` returns the reason to refuse a write. */
  prepare(
    database: Database,
    writes: readonly DocumentWrite[],
    options: WriteOptions,
    judge: (writes: readonly DocumentWrite[]) => Promise<readonly Refusal[]>,
  ): Promise<{
    readonly writes: readonly DocumentWrite[];
    readonly refused: ReadonlyMap<DocumentWrite, DatabaseError>;
  }>;
  /** Returns for each write why it is refused, or undefined. */
  validate(database: Database, writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]>;
}

interface AccessGuardOptions {
  readonly database: Database;
  /** Validates the writes that pass. */
  readonly inner: WriteGuard;
  readonly users: () => MaybePromise<UserWrites>;
  /** Always has the current name of the users' database. */
  readonly usersDatabase: { readonly name: string };
}

type Refusal = DatabaseError | undefined;

const NO_REFUSALS: readonly Refusal[] = [];

export class AccessGuard implements WriteGuard {
  readonly #options: AccessGuardOptions;
  /** Writes refused before their passwords were hashed: they stay refused, whatever has changed since. */
  readonly #refused = new WeakMap<DocumentWrite, DatabaseError>();

  constructor(options: AccessGuardOptions) {
    this.#options = options;
  }

  get isNeeded(): boolean {
    return this.#isUsers || this.#options.inner.isNeeded;
  }

  /** User documents are checked against the stored ones: two concurrent writes could both take a free name. */
  get isExclusive(): boolean {
    return this.#isUsers;
  }

  designsChanged(): void {
    this.#options.inner.designsChanged();
  }

  prepare(writes: readonly DocumentWrite[], options: WriteOptions): MaybePromise<readonly DocumentWrite[]> {
    const { inner } = this.#options;
    const prepared = this.#isUsers ? this.#prepareUsers(writes, options) : writes;
    return whenReady(prepared, (made) => inner.prepare?.(made, options) ?? made);
  }

  async #prepareUsers(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly DocumentWrite[]> {
    const { database, users } = this.#options;
    const rules = await users();
    const judge = (bare: readonly DocumentWrite[]) => this.validate(bare, options);
    const prepared = await rules.prepare(database, writes, options, judge);
    for (const [write, refusal] of prepared.refused) this.#refused.set(write, refusal);
    return prepared.writes;
  }

  async validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]> {
    const { inner } = this.#options;
    const refusals = await this.#judge(writes, options);
    if (!(await runCooperatively(someInSteps(refusals, isRefusal)))) return inner.validate(writes, options);
    const passed = await runCooperatively(filterInSteps(writes, (_write, index) => !isRefusal(refusals[index])));
    const verdicts = passed.length === 0 ? [] : await inner.validate(passed, options);
    let next = 0;
    return runCooperatively(mapInSteps(writes, (_write, index) => refusals[index] ?? verdicts[next++]));
  }

  get #isUsers(): boolean {
    const { database, usersDatabase } = this.#options;
    return database.name === usersDatabase.name;
  }

  async #judge(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]> {
    const { database, users } = this.#options;
    const judged = this.#isUsers ? await (await users()).validate(database, writes, options) : NO_REFUSALS;
    const ofUsers = judged.map((refusal, index) => this.#refused.get(must(writes[index])) ?? refusal);
    if (this.#mayWriteDesigns(options)) return ofUsers;
    return runCooperatively(mapInSteps(writes, ({ id }, index) => (isDesignId(id) ? notAnAdmin() : ofUsers[index])));
  }

  #mayWriteDesigns({ user }: WriteOptions): boolean {
    const { security } = this.#options.database;
    return user === undefined || isServerAdmin(user) || isDatabaseAdmin(user, parseSecurity(security));
  }
}

function isRefusal(refusal: Refusal): boolean {
  return refusal !== undefined;
}

export function notAnAdmin(): DatabaseError {
  return new DatabaseError('unauthorized', 'You are not a db or server admin.');
}
