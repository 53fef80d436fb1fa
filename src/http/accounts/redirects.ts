/** Where a session's request may have its client sent: to a path of this server, and to no other place (docs/http.md#sessions). */
import { DatabaseError } from '../../errors/database-error.ts';
import type { Answer, Context } from '../request/context.ts';
import { fitsHeader, ownOrigin, toAscii, withLocation } from '../response/locations.ts';
import { jsonAnswer } from '../response/responses.ts';

/** Browsers take backslashes for slashes, and pass over tabs and line breaks: none of these may be in it. */
const OWN_PATH = /^\/(?!\/)[^\\\p{Cc}\s]*$/u;

/** The path that the parameter asks for; undefined where it is not there. Fails with `bad_request` where it leads elsewhere. */
export function redirectOf(context: Context, parameter: 'next' | 'fail'): string | undefined {
  const path = context.query.get(parameter);
  if (path === undefined) return undefined;
  if (OWN_PATH.test(path) && fitsHeader(toAscii(path))) return path;
  const reason = `${parameter} must be a path of this server, which begins with one slash; no other address can be gone to.`;
  throw new DatabaseError('bad_request', reason);
}

export function redirect(context: Context, path: string, body: object): Answer {
  return withLocation(jsonAnswer(context, 302, JSON.stringify(body)), `${ownOrigin(context)}${path}`);
}
