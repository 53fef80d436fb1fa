/** How a refusal for lack of rights asks its client to log in (docs/http/accounts.md#refusals-for-lack-of-rights). */
import { requiresValidUser } from '../../../base/system/config.ts';
import { accepts } from '../../request/accept.ts';
import { originOf } from '../../request/address.ts';
import type { Answer, Context } from '../../request/context.ts';
import { fitsHeader, ownBase, toAscii } from '../../response/locations.ts';
import { withHeader } from '../../response/responses.ts';

const BASIC = 'Basic realm="server"';

export function challenge(context: Context, answer: Answer): Answer {
  const { config } = context.services;
  const wanted = context.ownHeader('www-authenticate') ?? config.get('httpd', 'WWW-Authenticate');
  if (wanted !== undefined && wanted !== '') return withHeader(answer, 'www-authenticate', printable(wanted));
  const page = config.get('svc_httpd_auth', 'authentication_redirect');
  if (page === undefined || page === '') return answer;
  if (requiresValidUser(config)) {
    return withHeader(answer, 'www-authenticate', BASIC);
  }
  const accept = context.header('accept');
  if (accepts(accept, 'application/json') || !accepts(accept, 'text/html')) return answer;
  return toLoginPage(context, answer, page);
}

/** Removes what a header can't carry. */
function printable(text: string): string {
  return text.replace(/[^ -~]+/g, '');
}

/** Redirects to a page where a person logs in, and which redirects back. */
function toLoginPage(context: Context, answer: Answer, page: string): Answer {
  const { url } = context.request;
  const path = url.slice(originOf(url)?.length ?? 0);
  const query = new URLSearchParams({ return: path, reason: reasonOf(answer) });
  const base = page.startsWith('/') ? ownBase(context) : '';
  const address = toAscii(`${base}${page}?${query}`);
  return fitsHeader(address) ? { ...answer, status: 302, headers: { ...answer.headers, location: address } } : answer;
}

function reasonOf({ body }: Answer): string {
  const { reason }: { readonly reason?: unknown } = typeof body === 'string' ? Object(JSON.parse(body)) : {};
  return typeof reason === 'string' ? reason : '';
}
