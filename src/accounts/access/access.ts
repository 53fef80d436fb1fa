/**
 * Whether a user has a right, and what rights depend on: whether there is an admin, and the security objects of databases. Notifies listeners
 * when one of these changes.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import { Notifier } from '../../base/shared/notifier.ts';
import { requiresValidUser } from '../../base/system/config.ts';
import { type ConfigStore, REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import { ADMIN_PARTY, ANONYMOUS, type Standing } from '../contract.ts';
import { followUsersDatabase } from '../settings.ts';
import { isDatabaseAdmin, isMember, isServerAdmin, parseSecurity, type Security } from './security.ts';

/** The security objects of databases, each parsed once. */
class SecurityObjects {
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

/** Whether the service has a server admin. As long as it has none, everyone is a server admin. */
const SECTION = 'admins';

class AdminParty {
  readonly #names: Set<string>;

  constructor(config: ConfigStore) {
    this.#names = new Set(Object.keys(config.section(SECTION)));
    config.onChange(({ section, key, value }) => {
      if (section !== SECTION) return;
      if (value === undefined) this.#names.delete(key);
      else this.#names.add(key);
    });
  }

  get isOn(): boolean {
    return this.#names.size === 0;
  }
}

/** Sections of settings that say who may do what. */
const SECTIONS: ReadonlySet<string> = new Set([
  'admins',
  'svc_httpd_auth',
  'svc_httpd_oauth',
  'jwt_auth',
  'jwt_keys',
  'jwt_issuers',
  'oauth_consumer_secrets',
  'oauth_token_secrets',
  'oauth_token_users',
]);
const SETTINGS: ReadonlySet<string> = new Set(['httpd/authentication_handlers', 'httpd/trusted_proxies']);

export class Access {
  readonly #usersDatabase: { readonly name: string };
  readonly #party: AdminParty;
  readonly #securities: SecurityObjects;
  /** The database whose rights may have changed; null for all databases. */
  readonly #changes = new Notifier<string | null>();
  #requiresUser: boolean;
  /** The name of a user who has ended a session. */
  readonly #endedSessions = new Notifier<string>();
  #accountsVersion = 0;
  #rightsVersion = 0;

  constructor(config: ConfigStore, databases: Pick<Registry, 'peek' | 'use' | 'onEvent'>) {
    // Before the listener below: those whom it notifies may ask for the name.
    this.#usersDatabase = followUsersDatabase(config);
    this.#party = new AdminParty(config);
    this.#requiresUser = requiresValidUser(config);
    this.#securities = new SecurityObjects(databases);
    config.onChange(({ section, key }) => {
      this.#requiresUser = requiresValidUser(config);
      if (SECTIONS.has(section) || SETTINGS.has(`${section}/${key}`)) this.#accountsChanged();
    });
    databases.onEvent(({ name }) => {
      if (this.isUsersDatabase(name)) this.#accountsChanged();
    });
  }

  /**
   * Increases with each change that may alter an existing account, before any listener is called: a listener that checks rights again
   * synchronously must not find an account that was cached before the change.
   */
  get accountsVersion(): number {
    return this.#accountsVersion;
  }

  /** Increases with each change that may take a right away from a user, before any listener is called. */
  get rightsVersion(): number {
    return this.#rightsVersion;
  }

  /** The user whose rights a request without credentials has. */
  get withoutCredentials(): RequestUser {
    return this.#party.isOn ? ADMIN_PARTY : ANONYMOUS;
  }

  /** Whether everyone may do everything. */
  get isOpenToAll(): boolean {
    return this.#party.isOn;
  }

  /** The standing of a client that sends no credentials. */
  get standingOfNobody(): Standing {
    return this.#requiresUser ? { kind: 'gone' } : { kind: 'account', roles: this.withoutCredentials.roles };
  }

  /** Calls back when the standing of any user may have changed. Returns a function that stops this. */
  onStandingsChange(listener: () => void): () => void {
    return this.#changes.listen((changed) => {
      if (changed === null) listener();
    });
  }

  /** Whether anonymous clients are refused. */
  get requiresUser(): boolean {
    return this.#requiresUser;
  }

  isUsersDatabase(name: string): boolean {
    return name === this.#usersDatabase.name;
  }

  /** Whether the database may have documents that not all of its members may see. */
  isSystemDatabase(name: string): boolean {
    return name.startsWith('_') || this.isUsersDatabase(name);
  }

  /** Whether members who are not admins see less of its documents (`read-restriction.ts`). */
  hasReadRestrictions(name: string): boolean {
    return name === REPLICATOR_DATABASE || this.isUsersDatabase(name);
  }

  /** Returns the security object: synchronously if the database is open. Fails with `not_found` if there is no such database. */
  securityOf(database: string): MaybePromise<Security> {
    return this.#securities.of(database);
  }

  /** Notifies listeners that the security object of that database was set. */
  securityChanged(database: string): void {
    this.#rightsVersion += 1;
    this.#changes.notify(database);
  }

  /** Notifies listeners that sessions may have been ended, of whomever, by another process; or that a key of tokens may be gone. */
  sessionsChanged(): void {
    this.#rightsVersion += 1;
    this.#changes.notify(null);
  }

  /** Notifies listeners that a user of that name has ended a session. */
  sessionEnded(name: string): void {
    this.#rightsVersion += 1;
    this.#endedSessions.notify(name);
  }

  #accountsChanged(): void {
    this.#accountsVersion += 1;
    this.#rightsVersion += 1;
    this.#changes.notify(null);
  }

  /** Calls back when that user's rights in that database may have changed. Returns a function that stops this. */
  onChange(database: string | undefined, { name }: RequestUser, listener: () => void): () => void {
    const stops = [
      this.#changes.listen((changed) => {
        if (changed === null || changed === database) listener();
      }),
      this.#endedSessions.listen((changed) => {
        if (changed === name) listener();
      }),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }
}

interface NeededRight {
  readonly right: 'anyone' | 'member' | 'databaseAdmin' | 'serverAdmin';
  readonly database: string | undefined;
}

const NO_DATABASE = parseSecurity('{}');

/**
 * Returns the security object of the database: synchronously if the database is open. Fails with `unauthorized` if the user does not have
 * that right (docs/http/accounts.md#access-rights).
 */
export function authorizeUser(
  access: Access,
  user: RequestUser,
  { right, database }: NeededRight,
): MaybePromise<Security> {
  if (right === 'anyone' || isServerAdmin(user)) return NO_DATABASE;
  if (right === 'serverAdmin' || database === undefined) throw refusal('You are not a server admin.');
  return whenReady(access.securityOf(database), (security) => {
    if (right === 'databaseAdmin' && !isDatabaseAdmin(user, security)) {
      throw refusal('You are not a db or server admin.');
    }
    if (!isMember(user, security)) throw refusal('You are not authorized to access this db.');
    return security;
  });
}

function refusal(reason: string): DatabaseError {
  return new DatabaseError('unauthorized', reason);
}
