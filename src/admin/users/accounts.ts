/** The accounts of the server: admins in its settings, users as documents. */
import { ask, type JsonObject, pathOf, type ServerRequest, withQuery } from '../server/client.ts';
import { configurationPath, readSection } from '../server/configuration.ts';
import { session } from '../server/session.ts';

const PREFIX = 'org.couchdb.user:';
const AFTER_ALL = '\ufff0';
/** Shown instead of a password. */
const DOTS = '••••••';

export interface UserAccount {
  readonly name: string;
  readonly roles: readonly string[];
  /** The whole document, as it is stored. */
  readonly document: JsonObject;
}

export interface UserPage {
  readonly users: readonly UserAccount[];
  readonly hasMore: boolean;
}

export async function listAdmins(signal: AbortSignal): Promise<readonly string[]> {
  return Object.keys(await readSection('admins', signal)).toSorted();
}

/** The name of the database that holds the users. */
export async function usersDatabase(signal?: AbortSignal): Promise<string> {
  if (!session.value.hasAccounts) return '_users';
  const { info } = await ask<{ info?: JsonObject }>('GET', '_session', { signal, quiet: true });
  return typeof info?.authentication_db === 'string' ? info.authentication_db : '_users';
}

export async function listUsers(
  database: string,
  { prefix, skip, limit }: { readonly prefix: string; readonly skip: number; readonly limit: number },
  signal: AbortSignal,
): Promise<UserPage> {
  const path = withQuery(pathOf(database, '_all_docs'), {
    include_docs: true,
    startkey: PREFIX + prefix,
    endkey: PREFIX + prefix + AFTER_ALL,
    skip,
    limit: limit + 1,
  });
  const { rows } = await ask<{ rows: readonly { readonly doc: JsonObject | null }[] }>('GET', path, {
    signal,
    quiet: true,
  });
  const users = rows.flatMap(({ doc }) => (doc === null ? [] : [toAccount(doc)]));
  return { users: users.slice(0, limit), hasMore: rows.length > limit };
}

export async function readUser(database: string, name: string, signal?: AbortSignal): Promise<UserAccount> {
  return toAccount(await ask('GET', userPath(database, name), { signal, quiet: true }));
}

export function userPath(database: string, name: string): string {
  return pathOf(database, PREFIX + name);
}

/** The document of a new user. */
export function newUser(name: string, password: string, roles: readonly string[]): JsonObject {
  return { _id: PREFIX + name, type: 'user', name, roles, password };
}

/** The request that writes a user's document. */
export function userRequest(database: string, document: JsonObject): ServerRequest {
  return { method: 'PUT', path: userPath(database, `${document['name']}`), json: JSON.stringify(document) };
}

export async function adminRequest(name: string, password: string): Promise<ServerRequest> {
  return { method: 'PUT', path: await configurationPath('admins', name), json: JSON.stringify(password) };
}

/** The request as it may be seen: dots stand for the password. */
export function withoutPassword(request: ServerRequest): ServerRequest {
  if (request.json === undefined) return request;
  const body: unknown = JSON.parse(request.json);
  if (typeof body === 'string') return { ...request, json: JSON.stringify(DOTS) };
  if (typeof body !== 'object' || body === null || !('password' in body)) return request;
  return { ...request, json: JSON.stringify({ ...body, password: DOTS }) };
}

/** Sends a request that contains a password: it is kept out of the console. */
export async function sendSecret({ method, path, json }: ServerRequest): Promise<void> {
  await ask(method, path, { ...(json !== undefined && { json: JSON.parse(json) }), quiet: true });
}

/** Why the server would refuse the name; undefined if nothing is known against it. */
export function whyBadName(name: string): string | undefined {
  if (name === '') return 'An account needs a name.';
  if (name.startsWith('_')) return 'A name can’t begin with an underscore.';
  if (name.includes(':')) return 'A name can’t contain a colon.';
  return name.length > 1024 ? 'A name has at most 1,024 characters.' : undefined;
}

/** `editor, reader` as a list. */
export function rolesIn(text: string): readonly string[] {
  return [
    ...new Set(
      text
        .split(',')
        .map((role) => role.trim())
        .filter((role) => role !== ''),
    ),
  ];
}

function toAccount(document: JsonObject): UserAccount {
  const { name, roles, _id } = document;
  return {
    name: typeof name === 'string' ? name : `${_id}`.slice(PREFIX.length),
    roles: Array.isArray(roles) ? roles.map(String) : [],
    document,
  };
}
