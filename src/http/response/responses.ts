/** The forms of an answer. JSON text ends in a newline and must be revalidated (docs/http.md#common-headers). */
import type { ResponseBody } from '../../shared/message.ts';
import type { Answer, Context } from '../request/context.ts';

export const MUST_REVALIDATE = 'must-revalidate';

/** `json` is JSON text. */
export function jsonAnswer(context: Context, status: number, json: string): Answer {
  return textAnswer(context, status, `${json}\n`);
}

/** As `jsonAnswer` with its newline in place already, or with a stream of such text. */
export function textAnswer(context: Context, status: number, body: ResponseBody): Answer {
  return {
    status,
    headers: { 'content-type': context.jsonType, 'cache-control': MUST_REVALIDATE },
    body,
    isJson: true,
  };
}

export function okAnswer(context: Context, status: number): Answer {
  return jsonAnswer(context, status, '{"ok":true}');
}

export function notModified(tag: string): Answer {
  return { status: 304, headers: { etag: tag, 'cache-control': MUST_REVALIDATE }, body: null };
}

const NOT_PRIVATE = /^(?:public|s-maxage\b.*)$/i;
const IS_PRIVATE = /^(?:private|no-store)$/i;

/**
 * Sets a cookie, beside those that the answer sets already, each on a line of its own. No cache that several people share may keep the
 * answer then: it would give one person's cookie to another (RFC 9111, 7.3).
 */
export function withCookie(answer: Answer, cookie: string): Answer {
  const { 'set-cookie': others, 'cache-control': caching = '' } = answer.headers;
  const directives = caching.split(',').map((directive) => directive.trim());
  const kept = directives.filter((directive) => directive !== '' && !NOT_PRIVATE.test(directive));
  const isPrivate = kept.some((directive) => IS_PRIVATE.test(directive));
  withHeader(answer, 'cache-control', (isPrivate ? kept : ['private', ...kept]).join(', '));
  return withHeader(answer, 'set-cookie', others === undefined ? cookie : `${others}\n${cookie}`);
}

/** Adds a header to an answer that is still ours, and gives it back. */
export function withHeader(answer: Answer, name: string, value: string): Answer {
  answer.headers[name] = value;
  return answer;
}
