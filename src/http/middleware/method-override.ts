/** `X-HTTP-Method-Override`, for clients that can only POST (docs/http/requests.md#method-override). Ignores other methods and values. */
import type { Handler } from '../request/context.ts';

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'COPY']);

export function overrideMethod(next: Handler): Handler {
  return (context) => {
    if (context.method === 'POST') {
      const method = context.header('x-http-method-override');
      if (method !== undefined && METHODS.has(method)) context.method = method;
    }
    return next(context);
  };
}
