/** The forms of a response. JSON text ends in a newline and must be revalidated (docs/http/answers.md#common-headers). */
import type { ResponseBody } from '../../base/shared/message.ts';
import type { Answer, Context } from '../request/context.ts';

export const MUST_REVALIDATE = 'must-revalidate';

/** `json` is JSON text. */
export function jsonAnswer(context: Context, status: number, json: string): Answer {
  return textAnswer(context, status, `${json}\n`);
}

/** Like `jsonAnswer`, with its newline in place already, or with a stream of such text. */
export function textAnswer(context: Context, status: number, body: ResponseBody): Answer {
  return {
    status,
    headers: { 'content-type': context.jsonType, 'cache-control': MUST_REVALIDATE, vary: 'Accept' },
    body,
    isJson: true,
  };
}

export function okAnswer(context: Context, status: number): Answer {
  return jsonAnswer(context, status, '{"ok":true}');
}

/** `vary` is that of the response whose body the client has. */
export function notModified(tag: string, vary = 'Accept'): Answer {
  return { status: 304, headers: { etag: tag, 'cache-control': MUST_REVALIDATE, vary }, body: null };
}

const CREDENTIALS = 'Cookie, Authorization';
const PRIVATE = `private, ${MUST_REVALIDATE}`;

/**
 * For a response that another client may be refused, or get in another form. Shared caches keep no response that is made for one user
 * (RFC 9111, 3.5), and return to no client what they stored for another. `isOfSomebody`: the client has authenticated.
 */
export function withReader(answer: Answer, isOfSomebody: boolean): Answer {
  const { headers } = answer;
  const { vary } = headers;
  headers['vary'] = vary === undefined ? CREDENTIALS : `${vary}, ${CREDENTIALS}`;
  return isOfSomebody ? withPrivateCaching(answer) : answer;
}

/**
 * Sets a cookie, in addition to those that the response sets already, each on a line of its own. No shared cache may keep the
 * response then: it would give one person's cookie to another (RFC 9111, 7.3).
 */
export function withCookie(answer: Answer, cookie: string): Answer {
  const { 'set-cookie': others } = answer.headers;
  withPrivateCaching(answer);
  return withHeader(answer, 'set-cookie', others === undefined ? cookie : `${others}\n${cookie}`);
}

/** Headers that override `Cache-Control` for caches in front of servers (RFC 9213, and older vendor headers). */
const OF_SHARED_CACHES = /^(?:.+-cache-control|surrogate-.*|edge-control|x-accel-expires)$/;
/** RFC 9111, 5.2: a list; commas in quotes do not separate it. A value that does not match may be read in more than one way. */
const TOKEN = "[\\w!#$%&'*+.^`|~-]+";
const DIRECTIVE = `${TOKEN}(?:=(?:${TOKEN}|"[^"\\\\]*"))?`;
const DIRECTIVES = new RegExp(`^[\\s,]*(?:${DIRECTIVE}\\s*(?:,[\\s,]*|$))*$`);
const NOT_PRIVATE = /^(?:public|s-maxage|private)(?:=|$)/i;
const IS_PRIVATE = /^(?:private|no-store)$/i;

/** Keeps shared caches from storing the response, regardless of its own headers. */
function withPrivateCaching(answer: Answer): Answer {
  const { headers } = answer;
  for (const name of Object.keys(headers)) if (OF_SHARED_CACHES.test(name)) delete headers[name];
  const caching = headers['cache-control'];
  return withHeader(answer, 'cache-control', caching === MUST_REVALIDATE ? PRIVATE : privateCaching(caching));
}

function privateCaching(caching = ''): string {
  if (!DIRECTIVES.test(caching)) return PRIVATE;
  const directives = caching.match(new RegExp(DIRECTIVE, 'g')) ?? [];
  const isPrivate = directives.some((directive) => IS_PRIVATE.test(directive));
  const kept = directives.filter((directive) => IS_PRIVATE.test(directive) || !NOT_PRIVATE.test(directive));
  return (isPrivate ? kept : ['private', ...kept]).join(', ');
}

/** Adds a header to a response that is still ours, and returns it. */
export function withHeader(answer: Answer, name: string, value: string): Answer {
  answer.headers[name] = value;
  return answer;
}
