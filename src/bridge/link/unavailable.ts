/** The one answer for requests that reached nobody, or whose fate nobody knows. */
import type { PlainResponse } from '../../shared/message.ts';

/** `reason` says what failed, and what to do about it; `error` is a code of which more is known. */
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
