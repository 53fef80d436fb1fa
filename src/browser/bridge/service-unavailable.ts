/** The response for requests that reached no core, or whose outcome is unknown. */
import type { PlainResponse } from '../../base/shared/message.ts';

/** `reason` says what failed, and what to do about it; `error` is a more specific code, if the failure is known. */
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
