/** Who checks the writes to each database: accounts, the functions of its design documents, and the replicator. */
import { AccessGuard } from '../../accounts/access/write-guard.ts';
import { followUsersDatabase } from '../../accounts/settings.ts';
import type { DatabaseError } from '../../base/errors/database-error.ts';
import type { RandomBytes } from '../../base/shared/clock.ts';
import { type ConfigStore, REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type {
  CreateWriteGuard,
  Database,
  DocumentWrite,
  WriteGuard,
  WriteOptions,
} from '../../database/store/contract.ts';
import { WriteValidation } from '../../queries/design/write-validation.ts';
import type { ReplicationDocumentGuard } from '../../replication/documents/document-guard.ts';
import { Deferred } from './deferred.ts';
import type { Parts } from './parts.ts';

interface GuardOptions {
  readonly parts: Pick<Parts, 'code' | 'queryServer' | 'accounts'>;
  /** Where the key of secrets is kept. */
  readonly registry: () => Pick<Registry, 'notes' | 'keepNote'>;
  readonly random: RandomBytes;
  readonly config: ConfigStore;
  /** Called with the name of a database that has design documents, or may have received one. */
  readonly onDesigns: (database: string) => void;
  /** See `LoadDeferredCode`. */
  readonly expectFunctions: () => void;
}

/** Checks each write by its writer, and validates it with the functions of its database's design documents. */
export function createWriteGuards(options: GuardOptions): CreateWriteGuard {
  const { parts, config, onDesigns, expectFunctions } = options;
  const { code, queryServer, accounts } = parts;
  const ofReplicator = new Deferred(() =>
    code.use(({ replicationDocumentGuard }) => replicationDocumentGuard(options)),
  );
  const users = () => accounts.use(({ userWrites }) => userWrites);
  const usersDatabase = followUsersDatabase(config);
  return (database) => {
    const validation = new WriteValidation(
      database,
      async (...wanted) => queryServer.use((server) => server.openValidators(...wanted)),
      { onDesigns: () => onDesigns(database.name), expectFunctions },
    );
    const isReplicator = database.name === REPLICATOR_DATABASE;
    const inner = isReplicator ? new ReplicatorGuard(database, ofReplicator, validation) : validation;
    return new AccessGuard({ database, inner, users, usersDatabase });
  };
}

type Refusal = DatabaseError | undefined;

/** Checks the writes of `_replicator`: first with code loaded with the first of them, then as those of other databases. */
class ReplicatorGuard implements WriteGuard {
  readonly isNeeded = true;
  readonly #database: Database;
  readonly #code: Deferred<ReplicationDocumentGuard>;
  readonly #others: WriteGuard;

  /** `others`: checks the writes that this guard accepts. */
  constructor(database: Database, code: Deferred<ReplicationDocumentGuard>, others: WriteGuard) {
    this.#database = database;
    this.#code = code;
    this.#others = others;
  }

  async prepare(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly DocumentWrite[]> {
    return (await this.#code.get()).prepare(writes, options);
  }

  async validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly Refusal[]> {
    const refusals = await (await this.#code.get()).validate(this.#database, writes, options);
    if (!this.#others.isNeeded) return refusals;
    const passed = writes.filter((_write, index) => refusals[index] === undefined);
    const further = passed.length === 0 ? [] : await this.#others.validate(passed, options);
    let next = 0;
    return refusals.map((refusal) => refusal ?? further[next++]);
  }

  designsChanged(): void {
    this.#others.designsChanged();
  }
}
