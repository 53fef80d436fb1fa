/** Who uses the page, what the server is, and what it can do. */
import { computed, signal } from '@preact/signals';
import { ask, exchange, type JsonObject, ServerError } from './client.ts';
import { thisServer } from './where.ts';

export interface Session {
  /** Null: not logged in. */
  readonly name: string | null;
  readonly roles: readonly string[];
  /** How the server found out: `cookie`, `default`, … */
  readonly authenticated: string | undefined;
  /** False: the server has no accounts, so that everyone may do everything. */
  readonly hasAccounts: boolean;
}

export interface ServerInfo {
  readonly product: string;
  readonly version: string;
  readonly isSettee: boolean;
}

export const session = signal<Session>({ name: null, roles: [], authenticated: undefined, hasAccounts: true });
export const server = signal<ServerInfo | undefined>(undefined);
/** The user may do everything: an admin, or anyone as long as there is no admin. */
export const isAdmin = computed(() => session.value.roles.includes('_admin'));
/** Anyone is an admin. */
export const isAdminParty = computed(() => isAdmin.value && session.value.name === null);

/** Every control that writes is off. */
export const isReadOnly = signal(localStorage.getItem('settee-utils/read-only') === 'true');

/** The server's settings have switched it on, and the user has not chosen. */
const isReadOnlyByServer = signal(false);

export function setReadOnly(value: boolean): void {
  isReadOnly.value = value;
  isReadOnlyByServer.value = false;
  localStorage.setItem('settee-utils/read-only', `${value}`);
}

/** Why the user can't write; undefined if nothing is known against it. */
export const whyNoWrites = computed(() => {
  if (!isReadOnly.value) return undefined;
  const by = isReadOnlyByServer.value ? `: ${thisServer()}’s setting utils/read_only says so` : '';
  return `Read-only mode is on${by}. Switch it off at the bottom of the menu.`;
});
/** Why the user can't do what only admins can; undefined if nothing is known against it. */
export const whyNoAdmin = computed(() => {
  if (whyNoWrites.value !== undefined) return whyNoWrites.value;
  if (isAdmin.value) return undefined;
  return session.value.name === null
    ? 'Only admins can do this. Log in as an admin.'
    : `Only admins can do this, and ${session.value.name} is none. Log in as an admin, or ask one for the role _admin.`;
});

export async function loadSession(): Promise<void> {
  session.value = await readSession().catch((failure: unknown) => {
    if (!isMissingEndpoint(failure)) throw failure;
    return { name: null, roles: ['_admin'], authenticated: undefined, hasAccounts: false };
  });
}

async function readSession(): Promise<Session> {
  const { userCtx, info } = await ask<{ userCtx?: JsonObject; info?: JsonObject }>('GET', '_session', { quiet: true });
  const roles = Array.isArray(userCtx?.roles) ? userCtx.roles.map(String) : [];
  const name = typeof userCtx?.name === 'string' ? userCtx.name : null;
  const authenticated = typeof info?.authenticated === 'string' ? info.authenticated : undefined;
  return { name, roles, authenticated, hasAccounts: true };
}

interface Welcome {
  readonly vendor?: { readonly name?: string };
  readonly version?: string;
}

/** What the server is. Those that say nothing to users who are not logged in are asked again after the login. */
export async function loadServer(): Promise<void> {
  const welcome = await ask<Welcome>('GET', '', { quiet: true }).catch((failure: unknown): Welcome => {
    if (failure instanceof ServerError && [401, 403].includes(failure.status)) return {};
    throw failure;
  });
  const product = welcome.vendor?.name ?? 'The server';
  const isSettee = product === 'Settee';
  server.value = {
    product: product === 'The Apache Software Foundation' ? 'CouchDB' : product,
    version: welcome.version ?? '',
    isSettee,
  };
  if (hasChosenReadOnly()) return;
  const isByServer = await isProduction();
  // The user may choose while the server is asked.
  if (hasChosenReadOnly()) return;
  isReadOnly.value = isByServer;
  isReadOnlyByServer.value = isByServer;
}

function hasChosenReadOnly(): boolean {
  return localStorage.getItem('settee-utils/read-only') !== null;
}

/** Whether the server's settings say that the page begins in read-only mode. Other servers have no such file. */
async function isProduction(): Promise<boolean> {
  const response = await exchange({ method: 'GET', path: '_utils/settings.json' }).catch(() => undefined);
  if (response?.status !== 200) return false;
  try {
    return JSON.parse(response.text).read_only === true;
  } catch {
    return false;
  }
}

/** Fails with a `ServerError` if the name, the password or the code is wrong. `code`: of the user's authenticator, empty without one. */
export async function logIn(name: string, password: string, code = ''): Promise<void> {
  // Not logged: the body contains the password.
  const token = code === '' ? {} : { token: code };
  await ask('POST', '_session', { json: { name, password, ...token }, quiet: true });
  await loadServer();
  await loadSession();
}

export async function logOut(): Promise<void> {
  await ask('DELETE', '_session');
  await loadSession();
}

/** Whether the failure says that the server has no such endpoint, as servers of the family without Settee's additions. */
export function isMissingEndpoint(failure: unknown): boolean {
  return failure instanceof ServerError && [400, 404, 405, 501].includes(failure.status);
}
