import type { Answer, Context } from '../request/context.ts';
import { clientAddress } from '../response/asking-request.ts';

const LONGEST = 1_024;
const PLAIN_NAME = /^[\w.@+-]{1,128}$/;

/**
 * What the log says of a request that was answered after so many milliseconds: address, user, method, path and status. Without the query,
 * which may hold what should not be in a log.
 */
export function requestEntry(context: Context, { status }: Answer, ms: number): string {
  const { method, url } = context.request;
  const path = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  const address = clientAddress(context) || '-';
  return `${address} ${nameOf(context)} ${method.slice(0, LONGEST)} ${path.slice(0, LONGEST)} ${status} ${ms.toFixed(1)} ms`;
}

/** A name that could be taken for more than a name is quoted. */
function nameOf({ user: { name } }: Context): string {
  if (name === null) return '-';
  return PLAIN_NAME.test(name) ? name : JSON.stringify(name.slice(0, LONGEST));
}
