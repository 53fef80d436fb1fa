/** Accounts, as far as requests need them, and `_session`: logging in and out, and who is logged in (docs/http/accounts.md#sessions). */

import type { ReadRestriction } from '../../../accounts/access/read-restriction.ts';
import type { UserWrites } from '../../../accounts/access/write-guard.ts';
import type { Account } from '../../../accounts/accounts/account-store.ts';
import type { Authenticator, Standing, Way } from '../../../accounts/contract.ts';
import { endedCookie, sessionValue } from '../../../accounts/schemes/session-cookie.ts';
import { authenticationDatabase, handlerNames } from '../../../accounts/settings.ts';
import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import { ownMember } from '../../../base/json/objects.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../../base/shared/message.ts';
import { readObject, readText } from '../../request/bodies.ts';
import { CREDENTIALS } from '../../request/body-bounds.ts';
import type { Answer, Context } from '../../request/context.ts';
import type { DocumentHandler, HandlerPart } from '../../request/handlers.ts';
import { wayOf } from '../../response/asking-request.ts';
import { showError } from '../../response/error-table.ts';
import { fitsHeader, ownOrigin, toAscii, withLocation } from '../../response/locations.ts';
import { jsonAnswer, okAnswer, withCookie } from '../../response/responses.ts';

export const accountsHandlers = { getSession, postSession, deleteSession } as const;

/** Accounts, as far as requests need them: loaded if credentials are sent, or if there is an admin. */
export interface AccountsPart extends HandlerPart<AccountsService, keyof typeof accountsHandlers> {
  readonly authenticator: Authenticator;
  readonly userWrites: UserWrites;
  /** How a system database looks to a user who is not an admin of it; undefined if the database is an ordinary one. */
  shieldOf(database: string, user: RequestUser): ReadRestriction | undefined;
  /** Returns what is known of that name now. */
  standingOf(name: string): Promise<Standing>;
  /** Returns the 401 response in the form that asks the client to log in. */
  challenge(context: Context, answer: Answer): Answer;
  /** Answers with a document as a reader who is not an admin of its system database may see it. */
  readonly getProtectedDocument: DocumentHandler;
  /** Resolves when the configuration contains no plain password of a server admin any more. */
  settled(): MaybePromise<void>;
  /** Logs remaining messages. Requests may still need the part. */
  close(): void;
}

interface Credentials {
  readonly name: string;
  readonly password: string;
  /** Of the user's authenticator; empty if none was sent. */
  readonly code: string;
}

/** What the handlers of sessions work with. */
interface AccountsService {
  /** See `Logins`. */
  logIn(credentials: Credentials, address: string): MaybePromise<Account>;
  /** Returns the value of `Set-Cookie` that begins a session. */
  beginSession(account: Account, way: Way): Promise<string>;
  /** See `SessionCookies.end`. */
  endSession(value: string): Promise<void>;
}

/** Where a session request may redirect its client: only to an address of this server (docs/http/accounts.md#sessions). */
/** Browsers treat backslashes as slashes, and ignore tabs and line breaks: the path must contain none of these. */
const OWN_PATH = /^\/(?!\/)[^\\\p{Cc}\s]*$/u;
const FULL_ADDRESS = /^https?:\/\/[^\\\p{Cc}\s]*$/iu;

/** Returns the path that the parameter asks for; undefined if it is missing. Fails with `bad_request` if it leads elsewhere. */
function redirectOf(context: Context, parameter: 'next' | 'fail'): string | undefined {
  const given = context.query.get(parameter);
  if (given === undefined) return undefined;
  const path = FULL_ADDRESS.test(given) ? pathBelowBase(context, given) : given;
  if (path !== undefined && OWN_PATH.test(path) && fitsHeader(toAscii(path))) return path;
  const reason = `${parameter} must be a path of this server that begins with exactly one slash, or a full address below that of this service.`;
  throw new DatabaseError('bad_request', reason);
}

function redirect(context: Context, path: string, body: object): Answer {
  return withLocation(jsonAnswer(context, 302, JSON.stringify(body)), `${ownOrigin(context)}${path}`);
}

/** What a browser would request from this service at that address; undefined if it would ask another server, or leave the base path. */
function pathBelowBase(context: Context, address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const origin = ownOrigin(context);
  if (url === undefined || !URL.canParse(origin) || url.origin !== new URL(origin).origin) return undefined;
  const { basePath } = context.services;
  const isBelow = url.pathname === basePath || url.pathname.startsWith(`${basePath}/`);
  return isBelow && url.username === '' && url.password === '' ? `${url.pathname}${url.search}${url.hash}` : undefined;
}

const JSON_TYPE = /^\s*application\/json\b/i;

export function getSession(_service: AccountsService, context: Context): Answer {
  const { user, identity, services } = context;
  if (user.name === null && context.query.flag('basic')) throw new DatabaseError('unauthorized', 'Please login.');
  const info = {
    ...(identity === undefined || user.name === null ? {} : { authenticated: identity.method }),
    authentication_db: authenticationDatabase(services.config),
    authentication_handlers: handlerNames(services.config),
  };
  const { name, roles } = user;
  return jsonAnswer(context, 200, JSON.stringify({ ok: true, userCtx: { name, roles }, info }));
}

export async function postSession(service: AccountsService, context: Context): Promise<Answer> {
  const next = redirectOf(context, 'next');
  const fail = redirectOf(context, 'fail');
  const credentials = await readCredentials(context);
  try {
    const account = await service.logIn(credentials, context.clientAddress);
    return withCookie(loggedIn(context, account, next), await service.beginSession(account, wayOf(context)));
  } catch (error) {
    if (!isDatabaseError(error, 'unauthorized')) throw error;
    return withCookie(notLoggedIn(context, error, fail), endedCookie(context.services.config, wayOf(context)));
  }
}

export async function deleteSession(service: AccountsService, context: Context): Promise<Answer> {
  const next = redirectOf(context, 'next');
  const session = sessionValue(context.header('cookie'));
  if (session !== undefined) await service.endSession(session);
  const answer = next === undefined ? okAnswer(context, 200) : redirect(context, next, { ok: true });
  return withCookie(answer, endedCookie(context.services.config, wayOf(context)));
}

/** Answers a login. Only the browser gets the response to a redirected request: it has no name. */
function loggedIn(context: Context, { name, roles }: Account, next: string | undefined): Answer {
  if (next !== undefined) return redirect(context, next, { ok: true, name: null, roles });
  return jsonAnswer(context, 200, JSON.stringify({ ok: true, name, roles }));
}

function notLoggedIn(context: Context, failure: DatabaseError, fail: string | undefined): Answer {
  const { status, error, reason } = showError(failure);
  if (fail !== undefined) return redirect(context, fail, { error, reason });
  return { ...jsonAnswer(context, status, JSON.stringify({ error, reason })), errorCode: failure.code };
}

/** Reads JSON, or a form; some clients call the name `username`. A missing value is empty, which matches no account. */
async function readCredentials(context: Context): Promise<Credentials> {
  if (JSON_TYPE.test(context.header('content-type') ?? '')) {
    const body = await readObject(context, CREDENTIALS);
    const name = ownMember(body, 'name') ?? ownMember(body, 'username');
    return {
      name: textOf(name),
      password: textOf(ownMember(body, 'password')),
      code: textOf(ownMember(body, 'token')),
    };
  }
  const form = new URLSearchParams(await readText(context, CREDENTIALS));
  const name = form.get('name') ?? form.get('username') ?? '';
  return { name, password: form.get('password') ?? '', code: form.get('token') ?? '' };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
