import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import { parseSecurity, type Security } from './security.ts';

/** The security objects of databases, each parsed once. */
export class SecurityObjects {
  readonly #databases: Pick<Registry, 'peek' | 'use'>;
  readonly #parsed = new WeakMap<Database, { readonly text: string; readonly security: Security }>();

  constructor(databases: Pick<Registry, 'peek' | 'use'>) {
    this.#databases = databases;
  }

  /** Returns the security object: synchronously if the database is open. Fails with `not_found` if there is no such database. */
  of(name: string): MaybePromise<Security> {
    const open = this.#databases.peek(name);
    return open === undefined
      ? this.#databases.use(name, (database) => this.#securityOf(database))
      : this.#securityOf(open);
  }

  #securityOf(database: Database): Security {
    const { security: text } = database;
    const known = this.#parsed.get(database);
    if (known?.text === text) return known.security;
    const security = parseSecurity(text);
    this.#parsed.set(database, { text, security });
    return security;
  }
}
