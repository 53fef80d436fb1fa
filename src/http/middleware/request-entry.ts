import { clientAddress } from '../request/client-address.ts';
import type { Answer, Context } from '../request/context.ts';

const LONGEST = 1_024;
const PLAIN = /^[\w.:%@+-]{2,128}$|^\w$/;

/**
 * Returns the log entry of a request and how many milliseconds it took: address, user, method, path and status. Omits the query,
 * which may contain what should not be in a log.
 */
export function requestEntry(context: Context, { status }: Answer, ms: number): string {
  const { method, url } = context.request;
  const { name } = context.user;
  const path = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  const address = clientAddress(context);
  return `${address === '' ? '-' : plain(address)} ${name === null ? '-' : plain(name)} ${method.slice(0, LONGEST)} ${path.slice(0, LONGEST)} ${status} ${ms.toFixed(1)} ms`;
}

/** Quotes what could be mistaken for more than a name or an address. */
function plain(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text.slice(0, LONGEST));
}
