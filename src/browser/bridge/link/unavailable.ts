/** The answer for requests that reached no core, or of which nobody knows whether they were carried out. */
import type { PlainResponse } from '../../../base/shared/message.ts';

/** `reason` says what failed, and what to do about it; `error` is the word of a failure that is known more exactly. */
export function serviceUnavailable(
  reason: string,
  method = 'GET',
  error = 'service_unavailable',
): PlainResponse & { readonly body: string | null } {
  return {
    status: 503,
    headers: { 'content-type': 'application/json', 'cache-control': 'must-revalidate' },
    body: method === 'HEAD' ? null : `${JSON.stringify({ error, reason })}\n`,
  };
}
