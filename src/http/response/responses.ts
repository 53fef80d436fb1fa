/**
 * The forms of a response: JSON text ends in a newline and must be revalidated (docs/http/answers.md#common-headers), by its entity
 * tag if it has one (docs/http/answers.md#etags).
 */

import type { ResponseBody } from '../../base/shared/message.ts';
import { md5 } from '../../database/documents/md5.ts';
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

const UNSENDABLE = /[^ -~]/;
/** Revisions of earlier releases may have millions of characters, and clients take some kilobytes of headers. */
const MAX_TAGGED_LENGTH = 1_024;

/** Whether a revision is short enough for a tag: all that can be written now are. */
export function hasTag(rev: string): boolean {
  return rev.length <= MAX_TAGGED_LENGTH;
}

/** Percent-encodes what a header can't carry in revisions that other services made. */
export function revisionTag(rev: string): string {
  return `"${UNSENDABLE.test(rev) ? rev.replace(/[^ -~]+/g, encodeURIComponent) : rev}"`;
}

/** Returns a tag over everything that the response depends on: `"<base36 of an md5>"`. */
export async function tagOf(inputs: readonly (string | number)[]): Promise<string> {
  const digest = await md5(JSON.stringify(inputs));
  return `"${BigInt(`0x${digest}`).toString(36)}"`;
}

/**
 * A tag of a database at one moment: any change of its documents changes it. It differs between readers that see different parts of them,
 * or that functions were told of: see `readerTag`.
 */
export function momentTag(
  { uuid, instanceStartTime }: { readonly uuid: string; readonly instanceStartTime: string },
  { updateSeq, purgeSeq }: { readonly updateSeq: number; readonly purgeSeq: number },
  readerTag: readonly string[] = [],
): Promise<string> {
  return tagOf([uuid, instanceStartTime, updateSeq, purgeSeq, ...readerTag]);
}

/** What a database's response depends on that differs between its readers; empty if nothing does. `security`: the security object's text. */
export function readerTag(
  { restriction, isUserShown, user }: Context,
  { security }: { readonly security: string },
): readonly string[] {
  const shown = isUserShown ? [user.name ?? '', ...user.roles, security] : [];
  return restriction === undefined ? shown : [...shown, restriction.tag];
}

/** Splits `If-None-Match` at commas and compares literally: no weak matching, and no `*`. */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch === tag || ifNoneMatch.split(',').some((one) => one.trim() === tag);
}

/** A stored content type, which may be any text, as a header can carry it. */
export function headerText(type: string): string {
  return type.replace(/[^ -~]+/g, '').trim() || 'application/octet-stream';
}
