/** Where a session request may redirect its client: only to an address of this server (docs/http/accounts.md#sessions). */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { Answer, Context } from '../../request/context.ts';
import { fitsHeader, ownOrigin, toAscii, withLocation } from '../../response/locations.ts';
import { jsonAnswer } from '../../response/responses.ts';

/** Browsers treat backslashes as slashes, and ignore tabs and line breaks: the path must contain none of these. */
const OWN_PATH = /^\/(?!\/)[^\\\p{Cc}\s]*$/u;
const FULL_ADDRESS = /^https?:\/\/[^\\\p{Cc}\s]*$/iu;

/** Returns the path that the parameter asks for; undefined if it is missing. Fails with `bad_request` if it leads elsewhere. */
export function redirectOf(context: Context, parameter: 'next' | 'fail'): string | undefined {
  const given = context.query.get(parameter);
  if (given === undefined) return undefined;
  const path = FULL_ADDRESS.test(given) ? pathBelowBase(context, given) : given;
  if (path !== undefined && OWN_PATH.test(path) && fitsHeader(toAscii(path))) return path;
  const reason = `${parameter} must be a path of this server, which begins with one slash, or the full address of something below this service; it leads to no other place.`;
  throw new DatabaseError('bad_request', reason);
}

export function redirect(context: Context, path: string, body: object): Answer {
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
