/**
 * Refuses requests that, according to the browser, a page of another site sent (docs/http/requests.md#cross-site-requests). Such a page can't read
 * responses, but could make the service work, and run update functions. Clients other than browsers do not state a request's origin.
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { isReadOnlyRequest } from '../request/address/read-only-requests.ts';
import type { Context, Handler } from '../request/context.ts';
import { ownHost } from '../response/locations.ts';
import { isJsonp } from './jsonp.ts';

/** A GET by which the browser shows the page itself: a link that a person follows. */
const NAVIGATION = { method: 'GET', mode: 'navigate', destination: 'document' } as const;

export function refuseCrossSite(next: Handler): Handler {
  return (context) => {
    if (isCrossSite(context) && !isAllowedAcrossSites(context)) throw refusal(context);
    return next(context);
  };
}

/**
 * Whether the service's operator allows this to pages of other sites. Without an admin, everyone may do everything: then any page that is
 * not named may read at most.
 */
function isAllowedAcrossSites(context: Context): boolean {
  const { request, sharedWith, services } = context;
  if (request.method === 'GET' && mayBeScript(context) && isJsonp(context)) return true;
  if (sharedWith === undefined) return false;
  return sharedWith.isNamed || hasAdmin(services) || isReadOnlyRequest(request, `${services.basePath}/`);
}

/** Whether the response may be for a script: older browsers don't state what it is for. */
function mayBeScript(context: Context): boolean {
  return (context.header('sec-fetch-dest') ?? 'script') === 'script';
}

function hasAdmin({ config }: Context['services']): boolean {
  return Object.keys(config.section('admins')).length > 0;
}

/**
 * `Sec-Fetch-Site` is the browser's own judgment of the address that it requested, which a proxy on the way may have changed. So it takes
 * precedence over `Origin` if it says that the page is of the same origin, or that there is none. Pages on another port of the same host are
 * `same-site`, but their `Origin` is foreign.
 */
function isCrossSite(context: Context): boolean {
  const site = context.header('sec-fetch-site');
  if (site === 'same-origin' || site === 'none') return false;
  if (site === 'cross-site') return !isNavigation(context);
  const origin = context.header('origin');
  return origin !== undefined && !isOwn(context, origin);
}

function isNavigation(context: Context): boolean {
  return (
    context.request.method === NAVIGATION.method &&
    context.header('sec-fetch-mode') === NAVIGATION.mode &&
    context.header('sec-fetch-dest') === NAVIGATION.destination
  );
}

/** Ignores the scheme: a proxy that terminates TLS uses another one than the browser. `null` is an origin that no one else has. */
function isOwn(context: Context, origin: string): boolean {
  const host = origin.slice(origin.indexOf('://') + 3).toLowerCase();
  return origin.includes('://') && host === ownHost(context)?.toLowerCase();
}

function refusal(context: Context): DatabaseError {
  const origin = context.header('origin');
  const sender = origin === undefined ? 'a page of another site' : `a page of another origin, ${origin.slice(0, 200)},`;
  const reason = `The browser says that ${sender} sent this request. Only pages of this server's own origin may do that.`;
  return new DatabaseError('forbidden', reason);
}
