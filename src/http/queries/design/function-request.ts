/** A request as functions of design documents get it: the `req` object (docs/http/functions.md#the-request-object). */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { Database } from '../../../database/store/contract.ts';
import { shownInfo } from '../../database/databases.ts';
import { parseTarget } from '../../request/address.ts';
import { readText } from '../../request/bodies.ts';
import { type BodyBound, tooLarge } from '../../request/body-bounds.ts';
import type { Context } from '../../request/context.ts';
import { JSON_PARAMETERS } from '../../request/list-parameters.ts';

/** Headers that tell functions of addresses (docs/http/functions.md#rewrite-rules, #virtual-hosts). A client's own values in them are ignored. */
const REQUESTED_PATH = 'X-Svc-Requested-Path';
const VHOST_PATH = 'X-Svc-Vhost-Path';

/** Headers with credentials, and headers that only the service may send. */
const NOT_SHOWN = /^(?:proxy-)?authorization$|^x-auth-.*token$|^x-svc-(?:requested|vhost)-path$/;
const SESSION_COOKIE = 'AuthSession';
/** The parameter with a request's signature. With PLAINTEXT it is the secrets themselves (docs/http/accounts.md#oauth). */
export const SIGNATURE = 'oauth_signature';
const SIGNATURE_IN_ADDRESS = /(?<=[?&])oauth_signature=[^&#\s]*&?/g;
const FORM_TYPE = 'application/x-www-form-urlencoded';
/** For a form that becomes values for a function. */
const FORM: BodyBound = { bytes: 1_048_576, remedy: 'Send less in a form; functions read JSON from `req.body`.' };
const MAX_FIELDS = 10_000;
/** For any other body that a function sees. */
const SEEN: BodyBound = { bytes: 16_777_216, remedy: 'Send large data as an attachment, or as documents.' };
/** What functions see if there is no body. */
const NO_BODY = 'undefined';
/** For clients within the service's process, which no one else reaches. */
const OWN_ADDRESS = '127.0.0.1';

/** Returns JSON text. `id` is the document that the path names. `body` is the request body if it was read already. */
export async function functionRequest(
  context: Context,
  database: Database,
  id: string | null,
  body?: string,
): Promise<string> {
  const { request, services } = context;
  const text = body ?? (request.body === null ? '' : await readText(context, isForm(context) ? FORM : SEEN));
  if (text.length > SEEN.bytes) throw tooLarge(SEEN);
  const rawPath = withoutSignature(pathOf(request.url));
  const { name, roles } = context.user;
  context.isUserShown = true;
  const members = {
    info: shownInfo(await database.info()),
    id,
    uuid: services.uuids.next(),
    method: context.isHead ? 'HEAD' : context.method,
    requested_path: segmentsOf(context, withoutSignature(context.requestedPath ?? rawPath)),
    path: segmentsOf(context, rawPath),
    raw_path: rawPath,
    query: queryOf(context),
    headers: headersOf(context),
    body: text === '' ? NO_BODY : text,
    peer: context.clientAddress || OWN_ADDRESS,
    form: formOf(context, text),
    cookie: cookiesOf(context),
    userCtx: { db: database.name, name, roles },
  };
  return `${JSON.stringify(members).slice(0, -1)},"secObj":${database.security}}`;
}

/** The address from the slash after the host on, with the query. */
function pathOf(url: string): string {
  return url.startsWith('/') ? url : url.replace(/^[^:]*:\/\/[^/?#]*/, '');
}

function segmentsOf(context: Context, path: string): readonly string[] {
  return parseTarget(path, path.startsWith(context.services.basePath) ? context.services.basePath : '').segments;
}

function queryOf(context: Context): Record<string, unknown> {
  const pairs = [...context.query.entries()].filter(([name]) => name !== SIGNATURE);
  return Object.fromEntries(pairs.map(([name, text]) => [name, isShownAsValue(name) ? jsonValue(text) : text]));
}

/** Functions see a list of keys as text. */
function isShownAsValue(name: string): boolean {
  return name !== 'keys' && JSON_PARAMETERS.has(name);
}

/** Returns text that is not JSON as it is; if that matters, the query of the view refuses it. */
export function jsonValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * Spells names as functions expect them: `Content-Type`. Omits credentials: the author of a design document must not be able to act
 * as another user.
 */
function headersOf(context: Context): Record<string, string> {
  const proxyToken = context.services.config.get('svc_httpd_auth', 'x_auth_token')?.toLowerCase();
  const headers = Object.entries(context.request.headers).flatMap(([name, value]): [string, string][] => {
    if (NOT_SHOWN.test(name) || name === proxyToken) return [];
    const shown =
      name === 'cookie'
        ? cookiePairs(context)
            .map((pair) => pair.join('='))
            .join('; ')
        : withoutSignature(value);
    return shown === '' && name === 'cookie' ? [] : [[customaryName(name), shown]];
  });
  const addresses = Object.entries({ [REQUESTED_PATH]: context.requestedPath, [VHOST_PATH]: context.vhostPath });
  for (const [name, path] of addresses) if (path !== undefined) headers.push([name, withoutSignature(path)]);
  return Object.fromEntries(headers);
}

/** Removes the signature from an address, or from a header that repeats one. */
function withoutSignature(text: string): string {
  return text.includes(SIGNATURE) ? text.replace(SIGNATURE_IN_ADDRESS, '') : text;
}

function customaryName(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

function isForm(context: Context): boolean {
  return (context.header('content-type') ?? '').trimStart().toLowerCase().startsWith(FORM_TYPE);
}

/** Fails with `too_large`. */
function formOf(context: Context, text: string): Record<string, string> {
  if (!isForm(context)) return {};
  if (text.length > FORM.bytes) throw tooLarge(FORM);
  let fields = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) fields++;
  if (fields <= MAX_FIELDS) return Object.fromEntries(new URLSearchParams(text));
  const reason = `A form has ${MAX_FIELDS} fields at most, and this one has ${fields}; nothing was changed. Send less in a form; functions read JSON from \`req.body\`.`;
  throw new DatabaseError('too_large', reason);
}

function cookiesOf(context: Context): Record<string, string> {
  return Object.fromEntries(cookiePairs(context));
}

/** All cookies except that of the session. */
function cookiePairs(context: Context): readonly (readonly [string, string])[] {
  return (context.header('cookie') ?? '').split(';').flatMap((part): [string, string][] => {
    const equals = part.indexOf('=');
    const name = part.slice(0, equals).trim();
    return equals < 0 || name === SESSION_COOKIE ? [] : [[name, part.slice(equals + 1).trim()]];
  });
}
