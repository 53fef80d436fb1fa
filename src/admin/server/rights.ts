/** Whether the user is an admin of a database, as its security says. */
import { signal } from '@preact/signals';
import { ask, type JsonObject, pathOf } from './client.ts';
import { objectOf } from './replications.ts';
import { isAdmin, session } from './session.ts';

/** By name. A database that is not in it, or of which it is not known, is left to the server. */
const admins = signal<ReadonlyMap<string, JsonObject>>(new Map());

/** Asks who the admins of the database are. Servers that do not say permit, or refuse what is tried. */
export async function loadRights(database: string): Promise<void> {
  try {
    const security = await ask('GET', pathOf(database, '_security'), { quiet: true });
    admins.value = new Map(admins.value).set(database, objectOf(security.admins));
  } catch {
    const rest = new Map(admins.value);
    rest.delete(database);
    admins.value = rest;
  }
}

/** Why the user can't do what only admins of the database can; undefined if nothing is known against it. */
export function whyNoDatabaseAdmin(database: string): string | undefined {
  const known = admins.value.get(database);
  if (isAdmin.value || known === undefined || isNamed(known)) return undefined;
  return session.value.name === null
    ? 'Only admins of this database can do this. Log in as one.'
    : `Only admins of this database can do this, and ${session.value.name} is none. Ask one to add you on the screen Security.`;
}

function isNamed({ names, roles }: JsonObject): boolean {
  const { name, roles: own } = session.value;
  return (name !== null && includes(names, name)) || own.some((role) => includes(roles, role));
}

function includes(list: JsonObject[string], text: string): boolean {
  return Array.isArray(list) && list.includes(text);
}
