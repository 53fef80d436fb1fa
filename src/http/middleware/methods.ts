/**
 * The method by which a request is answered: clients that can only POST name it in a header (docs/http/requests.md#method-override),
 * and HEAD runs as GET, without the body (docs/http/requests.md#head).
 */

import { whenReady } from '../../base/shared/maybe-promise.ts';
import { isStream } from '../request/bodies.ts';
import type { Answer, Handler } from '../request/context.ts';

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'COPY']);

/** Ignores other methods and values. */
export function overrideMethod(next: Handler): Handler {
  return (context) => {
    if (context.method === 'POST') {
      const method = context.header('x-http-method-override');
      if (method !== undefined && METHODS.has(method)) context.method = method;
    }
    return next(context);
  };
}

export function answerHead(next: Handler): Handler {
  return (context) => {
    if (context.method !== 'HEAD') return next(context);
    context.method = 'GET';
    context.isHead = true;
    // A client that sent a POST in place of HEAD would wait for a body of that length.
    const hasLength = context.request.method === 'HEAD';
    return whenReady(next(context), (answer) => withoutBody(answer, hasLength));
  };
}

async function withoutBody(answer: Answer, hasLength: boolean): Promise<Answer> {
  const { headers, body } = answer;
  if (body === null) return answer;
  const length = hasLength ? lengthOf(body) : undefined;
  if (length !== undefined) headers['content-length'] = String(length);
  if (isStream(body)) await body.cancel();
  return { ...answer, body: null };
}

/** Length in bytes. */
function lengthOf(body: NonNullable<Answer['body']>): number | undefined {
  return typeof body === 'string' ? new TextEncoder().encode(body).length : body.length;
}
