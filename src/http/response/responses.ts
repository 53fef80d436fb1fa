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

/** Adds a header to an answer that is still ours, and gives it back. */
export function withHeader(answer: Answer, name: string, value: string): Answer {
  answer.headers[name] = value;
  return answer;
}
