/** Who may read, write and administrate a database. */
import { ask, type JsonObject, pathOf } from '../server/client.ts';
import { readSection } from '../server/configuration.ts';
import { isBrowser, theServer, thisServer } from '../server/where.ts';

export const LISTS = ['admins', 'members'] as const;
export type ListName = (typeof LISTS)[number];

export interface People {
  readonly names: readonly string[];
  readonly roles: readonly string[];
}

export type Security = Readonly<Record<ListName, People>> & {
  /** The object as it is stored. */
  readonly stored: JsonObject;
};

/** Undefined: the user may not see the setting. */
export type NeedsLogin = boolean | undefined;

export async function readSecurity(database: string, signal: AbortSignal): Promise<Security> {
  return toSecurity(await ask('GET', securityPath(database), { signal, quiet: true }));
}

export function securityPath(database: string): string {
  return pathOf(database, '_security');
}

/** Whether the server refuses everyone who has not logged in. */
export async function readNeedsLogin(signal: AbortSignal): Promise<NeedsLogin> {
  try {
    const { require_valid_user } = await readSection('svc_httpd_auth', signal);
    return require_valid_user === undefined ? undefined : require_valid_user === 'true';
  } catch {
    // Only admins see settings, and other servers name them otherwise.
    return undefined;
  }
}

/** `readers` is an old name of `members`. */
export function toSecurity(stored: JsonObject): Security {
  return { admins: peopleIn(stored['admins']), members: peopleIn(stored[membersName(stored)]), stored };
}

/** The object with the lists as they are now; all its other members stay. */
export function toStored({ stored, admins, members }: Security): JsonObject {
  const { admins: formerAdmins, [membersName(stored)]: formerMembers, ...rest } = stored;
  return {
    ...rest,
    admins: { ...objectOf(formerAdmins), ...admins },
    [membersName(stored)]: { ...objectOf(formerMembers), ...members },
  };
}

/** Who may read and write documents, in words. */
export function readersText({ admins, members }: Security, needsLogin: NeedsLogin): string {
  if (isNobody(members)) {
    if (needsLogin === true) return 'Everyone who is logged in can read and write documents, since no member is named.';
    return needsLogin === false
      ? `${isBrowser.value ? 'Every page of this site' : 'Everyone who reaches this server'} can read and write documents, also without logging in, since no member is named.`
      : `Everyone whom ${thisServer()} lets in can read and write documents, since no member is named.`;
  }
  const others = [...describe(members), ...describe(admins)];
  return `Only ${joined(unique([...others, `the admins of ${theServer()}`]))} can read and write documents.`;
}

/** Who may change design documents, indexes and this list, in words. */
export function adminsText({ admins }: Security): string {
  const all = unique([...describe(admins), `the admins of ${theServer()}`]);
  return `${all.length === 1 ? 'Only ' : ''}${joined(all)} can change design documents, indexes and the security, and compact.`;
}

function describe({ names, roles }: People): readonly string[] {
  const known = roles.filter((role) => role !== '_admin');
  return [
    ...names,
    ...known.map((role) => `users with the role ${role}`),
    ...(known.length < roles.length ? [`the admins of ${theServer()}`] : []),
  ];
}

function isNobody({ names, roles }: People): boolean {
  return names.length === 0 && roles.length === 0;
}

function unique(all: readonly string[]): readonly string[] {
  return [...new Set(all)];
}

function joined(all: readonly string[]): string {
  return new Intl.ListFormat('en').format(all);
}

function membersName(stored: JsonObject): 'members' | 'readers' {
  return stored['members'] === undefined && stored['readers'] !== undefined ? 'readers' : 'members';
}

function peopleIn(value: unknown): People {
  const { names, roles } = objectOf(value);
  return { names: textsIn(names), roles: textsIn(roles) };
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function objectOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}
