/** Accounts on the server: sign up, log in, log out. The server keeps the session in a cookie that only the browser can read. */

/** The server, below the address of the app: `vite.config.ts` says where it is during development. */
export const server = '/server';

/** The name is kept on the device, so that the app shows the user's notes without a network. No password is kept. */
export const currentUser = (): string | undefined => localStorage.getItem('user') ?? undefined;

export async function signUp(name: string, password: string): Promise<void> {
  // A session that could not be ended without a network: its user may not make another account.
  await mustBeOk(await ask('DELETE', '/_session'));
  const account = { type: 'user', name, password, roles: [] };
  const response = await ask('PUT', `/_users/${encodeURIComponent(`org.couchdb.user:${name}`)}`, account);
  if (response.status === 409) throw new Error('This name is taken. Choose another one, or log in.');
  await mustBeOk(response);
  await logIn(name, password);
}

export async function logIn(name: string, password: string): Promise<void> {
  await mustBeOk(await ask('POST', '/_session', { name, password }));
  localStorage.setItem('user', name);
}

export async function logOut(): Promise<void> {
  localStorage.removeItem('user');
  // Without a network the session can't be ended. The next log-in replaces it.
  await ask('DELETE', '/_session').catch(() => undefined);
}

/** What is behind the names of a user's databases: names of users may have characters that those of databases can't have. */
export function hexOf(name: string): string {
  return Array.from(new TextEncoder().encode(name), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function ask(method: string, path: string, body?: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  try {
    return await fetch(server + path, { method, headers, body: body && JSON.stringify(body) });
  } catch {
    throw new Error('The server can’t be reached. Are you online?');
  }
}

async function mustBeOk(response: Response): Promise<void> {
  if (response.ok) return;
  const { reason } = await response.json().catch(() => ({ reason: undefined }));
  if (reason === 'no_db_file') throw new Error('There are no accounts yet. Run npm run server:admin.');
  throw new Error(reason ?? `The server can’t be reached (${response.status}). Does it run?`);
}
