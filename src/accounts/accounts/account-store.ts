/** Accounts. Finds them, and caches the most recently used ones (docs/http/server.md#settings: `auth_cache_size`). */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';
import { type MaybePromise, whenReady, withEnd } from '../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { RevId } from '../../database/documents/contract.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import { toRevId } from '../../database/documents/revisions/revisions.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { Snapshot } from '../../database/store/contract.ts';
import { MAX_NAME_LENGTH, SERVER_ADMIN_ROLE, type Standing, USER_PREFIX } from '../contract.ts';
import { LruCache } from '../lru-cache.ts';
import { totpOf } from '../passwords/one-time-codes.ts';
import { hashOfAdmin, hashOfUser, type PasswordHash } from '../passwords/stored-password.ts';
import { authenticationDatabase, cacheSize, handlerNames } from '../settings.ts';

/** A user who can log in: a server admin of the configuration, or a document of the users' database (docs/http/accounts.md). */
export interface Account {
  readonly name: string;
  readonly roles: readonly string[];
  readonly kind: 'admin' | 'user';
  /** Undefined if no one can log in with a password. */
  readonly hash: PasswordHash | undefined;
  /** With which the user has to make a code at each log-in; undefined if the password is enough. */
  readonly totp?: ReturnType<typeof totpOf>;
  /** Whether the user's document has conflicting revisions. */
  readonly hasConflicts: boolean;
}

/** A live document of a user. */
interface UserDocument {
  readonly rev: RevId;
  readonly body: JsonObject;
  readonly hasConflicts: boolean;
}

/** Returns an account even if the document broke the rules when it was written: roles that begin with an underscore belong to the service. */
function accountOfUser(name: string, { body, hasConflicts }: UserDocument): Account | undefined {
  if (ownMember(body, 'name') !== name) return undefined;
  return { name, roles: rolesOf(body), kind: 'user', hash: hashOfUser(body), totp: totpOf(body), hasConflicts };
}

/** A server admin also has the roles of the user document of that name, but needs no code of it: anyone could have signed up under that name. */
function accountOfAdmin(name: string, text: string, document: UserDocument | undefined): Account {
  const roles = document === undefined ? [] : rolesOf(document.body);
  return { name, roles: [SERVER_ADMIN_ROLE, ...roles], kind: 'admin', hash: hashOfAdmin(text), hasConflicts: false };
}

export function userOf({ name, roles }: Account): RequestUser {
  return { name, roles };
}

/** What sessions and cached passwords depend on besides the name: it differs after the password was changed. */
export function saltOf({ hash }: Account): string {
  return hash?.salt ?? '';
}

function rolesOf(body: JsonObject): readonly string[] {
  const roles = ownMember(body, 'roles');
  if (!Array.isArray(roles)) return [];
  return roles.filter((role): role is string => typeof role === 'string' && !role.startsWith('_'));
}

interface Remembered {
  readonly account: Account | undefined;
  readonly adminText: string | undefined;
  readonly version: number;
}

/** Handlers that recognise users who need no account here. */
const OUTSIDE: ReadonlySet<string> = new Set(['proxy', 'jwt']);

export class AccountStore {
  readonly #config: ConfigStore;
  readonly #databases: Registry;
  readonly #remembered: LruCache<string, Remembered>;
  readonly #version: () => number;

  /** `version`: see `Access.accountsVersion`. */
  constructor(config: ConfigStore, databases: Registry, version: () => number) {
    this.#config = config;
    this.#databases = databases;
    this.#version = version;
    this.#remembered = new LruCache(() => cacheSize(config));
  }

  /** Returns the account as it is now: synchronously if it is cached. Undefined if there is none of that name. */
  find(name: string): MaybePromise<Account | undefined> {
    const adminText = this.#config.get('admins', name);
    const version = this.#version();
    const known = this.#remembered.get(name);
    if (known?.version === version && known.adminText === adminText) return known.account;
    return whenReady(this.readDocument(name), (document) => {
      const ofDocument = document === undefined ? undefined : accountOfUser(name, document);
      const account = adminText === undefined ? ofDocument : accountOfAdmin(name, adminText, document);
      this.#remembered.set(name, { account, adminText, version });
      return account;
    });
  }

  /** Returns what is known of that name now. */
  async standingOf(name: string): Promise<Standing> {
    const account = await this.find(name);
    if (account?.hasConflicts === true) return { kind: 'gone' };
    if (account !== undefined) return { kind: 'account', roles: account.roles };
    if (await this.#isDeleted(name)) return { kind: 'gone' };
    return { kind: 'unknown', mayLogIn: handlerNames(this.#config).some((handler) => OUTSIDE.has(handler)) };
  }

  async #isDeleted(name: string): Promise<boolean> {
    const usersDatabase = authenticationDatabase(this.#config);
    if (!isName(name) || !this.#databases.has(usersDatabase)) return false;
    return this.#databases.use(usersDatabase, async (database) => {
      const snapshot = database.snapshot();
      try {
        const record = await snapshot.document(parseDocId(`${USER_PREFIX}${name}`));
        return record?.leaves[0]?.deleted === true;
      } finally {
        snapshot.release();
      }
    });
  }

  /** Returns that user's document; undefined if there is none, or a deleted one. */
  readDocument(name: string): MaybePromise<UserDocument | undefined> {
    const usersDatabase = authenticationDatabase(this.#config);
    if (!isName(name) || !this.#databases.has(usersDatabase)) return undefined;
    return this.#databases.use(usersDatabase, (database) => {
      const snapshot = database.snapshot();
      return withEnd(
        () => readUser(snapshot, name),
        () => snapshot.release(),
      );
    });
  }
}

function isName(name: string): boolean {
  return name !== '' && name.length <= MAX_NAME_LENGTH && !hasLoneSurrogate(name);
}

function readUser(snapshot: Snapshot, name: string): MaybePromise<UserDocument | undefined> {
  return whenReady(snapshot.document(parseDocId(`${USER_PREFIX}${name}`)), (record) => {
    const [winner, second] = record?.leaves ?? [];
    if (winner === undefined || winner.deleted) return undefined;
    return whenReady(snapshot.body(winner), (text) => {
      const body: unknown = text === undefined ? undefined : JSON.parse(text);
      if (!isObject(body)) return undefined;
      const rev = toRevId(winner.generation, winner.hash);
      return { rev, body, hasConflicts: second !== undefined && !second.deleted };
    });
  });
}
