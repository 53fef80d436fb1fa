/** Accounts as the cases of the HTTP interface use them. */
import { assert } from 'chai';
import type { Answer } from './answer.ts';
import type { Settings } from './host.ts';
import { at } from './json.ts';
import type { Toolkit } from './toolkit.ts';

export type Headers = Readonly<Record<string, string>>;

/** `Authorization` with that name and password, in UTF-8. */
export function basic(name: string, password: string): Headers {
  const bytes = new TextEncoder().encode(`${name}:${password}`);
  return { authorization: `Basic ${btoa(String.fromCharCode(...bytes))}` };
}

export const ROOT = basic('root', 'secret of root');
export const USER_ID = 'org.couchdb.user:';

/** Few iterations, so that the cases do not wait for hashes. */
export const QUICK = { iterations: '10', min_iterations: '1' };

/** A toolkit on a service that has an admin, `ROOT`, so that requests without credentials are anonymous. The cases' database exists. */
export function withAdmin(t: Toolkit, settings: Settings = {}): Promise<Toolkit> {
  const admins = { root: 'secret of root', ...settings['admins'] };
  const ofAccounts = { ...QUICK, ...settings['svc_httpd_auth'] };
  return t.withSettings({ ...settings, admins, svc_httpd_auth: ofAccounts }, ROOT);
}

export interface NewUser {
  readonly name: string;
  readonly password?: string;
  readonly roles?: readonly string[];
}

/** Writes a user's document, and returns its revision. The password defaults to the name. */
export async function addUser(t: Toolkit, { name, password = name, roles = [] }: NewUser): Promise<string> {
  const path = userPath(name);
  const answer = await t.request('PUT', path, { headers: ROOT, json: userDocument({ name, password, roles }) });
  assert.equal(answer.status, 201, answer.text);
  return `${at(answer.json, 'rev')}`;
}

export function userDocument({ name, password = name, roles = [] }: NewUser): Record<string, unknown> {
  return { type: 'user', name, roles, password };
}

export function userPath(name: string): string {
  return `/_users/${encodeURIComponent(`${USER_ID}${name}`)}`;
}

/** The user that the service sees for these headers: name and roles. */
export async function whoIs(t: Toolkit, headers: Headers = {}): Promise<unknown> {
  const answer = await t.request('GET', '/_session', { headers });
  assert.equal(answer.status, 200, answer.text);
  return at(answer.json, 'userCtx');
}

/** Logs in, and returns the headers of the session. */
export async function logIn(t: Toolkit, name: string, password = name): Promise<Headers> {
  const answer = await t.request('POST', '/_session', { json: { name, password } });
  assert.equal(answer.status, 200, answer.text);
  return { cookie: cookieOf(answer) };
}

/** `name=value` of the response's `Set-Cookie`. */
export function cookieOf(answer: Answer): string {
  return (answer.header('set-cookie') ?? '').split(';')[0] ?? '';
}

/** Like `withAdmin`, with the users' database and these users in it. */
export async function withUsers(t: Toolkit, users: readonly NewUser[], settings: Settings = {}): Promise<Toolkit> {
  const own = await withAdmin(t, settings);
  await own.createDatabase('_users');
  for (const user of users) await addUser(own, user);
  return own;
}
