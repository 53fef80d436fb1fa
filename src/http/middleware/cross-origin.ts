/**
 * Which pages of other origins may send requests: cross-origin resource sharing (docs/http/requests.md#cors, and the Fetch standard,
 * 3.3) says so to their browsers, and requests of all other pages are refused (docs/http/requests.md#cross-site-requests).
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { PlainHeaders } from '../../base/shared/message.ts';
import { booleanSetting } from '../../base/system/config.ts';
import type { Config, ConfigStore } from '../../base/system/contract.ts';
import type { Answer, Context, Handler } from '../request/context.ts';
import { isReadOnlyRequest } from '../request/read-only-requests.ts';
import { ownHost } from '../response/locations.ts';
import { withHeader } from '../response/responses.ts';
import { isJsonp } from './jsonp.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'COPY', 'OPTIONS', 'QUERY'];

/** The headers that requests may have if `cors/headers` is unset. */
const REQUEST_HEADERS: readonly string[] = [
  'accept',
  'accept-language',
  'authorization',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'content-type',
  'destination',
  'expires',
  'if-match',
  'if-none-match',
  'last-event-id',
  'last-modified',
  'origin',
  'pragma',
  'range',
  'traceparent',
  'tracestate',
  'x-couch-full-commit',
  'x-couch-persist',
  'x-couchdb-www-authenticate',
  'x-http-method-override',
  'x-requested-with',
  'x-svc-full-commit',
  'x-svc-persist',
  'x-svc-www-authenticate',
];

/** Headers that pages may read if a response has them, in addition to those that they always may read. */
const SHOWN_HEADERS = [
  'cache-control',
  'content-language',
  'content-type',
  'content-range',
  'expires',
  'last-modified',
  'location',
  'pragma',
  'retry-after',
  'server',
  'etag',
  'accept-ranges',
  'accept-query',
  'x-svc-help',
  'x-svc-id',
  'x-svc-update-newrev',
];

/** The permission for a page of this origin to send requests. */
interface CorsGrant {
  readonly origin: string;
  /** Whether with credentials, such as cookies. */
  readonly credentials: boolean;
  /** Whether the setting names the origin, rather than all. */
  readonly isNamed: boolean;
}

/** The settings for one host, which override those for all. */
class HostSettings {
  readonly #config: Config;
  readonly #sections: readonly string[];

  constructor(config: Config, host: string | undefined) {
    this.#config = config;
    const name = host?.toLowerCase() ?? '';
    this.#sections = [`cors:${name}`, `cors:${name.replace(/:\d*$/, '')}`, 'cors'];
  }

  get(key: string): string | undefined {
    const section = this.#sections.find((one) => this.#config.get(one, key) !== undefined);
    return section === undefined ? undefined : this.#config.get(section, key);
  }

  list(key: string): readonly string[] | undefined {
    const names = this.get(key)
      ?.split(',')
      .flatMap((name) => name.trim() || []);
    return names === undefined || names.length === 0 ? undefined : names;
  }
}

export function isCorsEnabled(config: Config): boolean {
  return booleanSetting(config, 'httpd', 'enable_cors');
}

/**
 * Returns undefined if the page may not send requests. All origins together with credentials are granted to no one: any page could then act
 * as the user who is logged in.
 */
export function grantOf(config: Config, origin: string | undefined, host: string | undefined): CorsGrant | undefined {
  if (origin === undefined || !isCorsEnabled(config)) return undefined;
  const settings = new HostSettings(config, host);
  const origins = settings.list('origins') ?? [];
  const credentials = settings.get('credentials') === 'true';
  const isNamed = origins.some((one) => one.toLowerCase() === origin.toLowerCase());
  const areAll = origins.includes('*');
  if (areAll ? credentials : !isNamed) return undefined;
  return { origin, credentials, isNamed };
}

/** The headers of the grant; `shown` are the names of the response's headers. Also for responses that are made in front of the service. */
export function grantHeaders(grant: CorsGrant, shown: Iterable<string>): Record<string, string> {
  // Every response gets this header in the end.
  const names = new Set(['server', ...[...shown].map((name) => name.toLowerCase())]);
  const exposed = SHOWN_HEADERS.filter((name) => names.has(name));
  return {
    'access-control-allow-origin': grant.origin,
    ...(grant.credentials && { 'access-control-allow-credentials': 'true' }),
    'access-control-expose-headers': exposed.join(', '),
  };
}

/**
 * Applies to every response, including refusals, and answers preflights before the sender is identified. `hostOf`: the name by which the
 * client knows the service.
 */
export function shareAcrossOrigins(
  config: ConfigStore,
  hostOf: (context: Context) => string | undefined,
  next: Handler,
): Handler {
  let isEnabled = isCorsEnabled(config);
  config.onChange(({ section, key }) => {
    if (section === 'httpd' && key === 'enable_cors') isEnabled = isCorsEnabled(config);
  });
  return (context) => {
    if (!isEnabled) return next(context);
    const host = hostOf(context);
    const grant = grantOf(config, context.header('origin'), host);
    if (grant === undefined) return whenReady(next(context), addVary);
    const settings = new HostSettings(config, host);
    const preflight = context.request.method === 'OPTIONS' ? answerPreflight(context, settings, grant) : undefined;
    if (preflight !== undefined) return addVary(preflight);
    context.sharedWith = grant;
    return whenReady(next(context), (answer) => addVary(addGrant(context, answer, grant)));
  };
}

/** Returns undefined if what is requested is not granted: the request is then answered like any other, and the browser stops there. */
function answerPreflight(
  { request: { headers } }: Context,
  settings: HostSettings,
  grant: CorsGrant,
): Answer | undefined {
  const method = headers['access-control-request-method'];
  const methods = settings.list('methods') ?? METHODS;
  const asked = (headers['access-control-request-headers'] ?? '').split(',').flatMap((name) => name.trim() || []);
  const allowed = new Set((settings.list('headers') ?? REQUEST_HEADERS).map((name) => name.toLowerCase()));
  if (method !== undefined && !methods.includes(method)) return undefined;
  if (!asked.every((name) => allowed.has(name.toLowerCase()))) return undefined;
  const answer: Answer = { status: 204, headers: grantHeaders(grant, []), body: null };
  withHeader(answer, 'access-control-allow-methods', methods.join(', '));
  if (asked.length > 0) withHeader(answer, 'access-control-allow-headers', asked.join(', '));
  if (isFromNetwork(headers)) withHeader(answer, 'access-control-allow-private-network', 'true');
  const age = Number(settings.get('max_age'));
  return withHeader(answer, 'access-control-max-age', `${Number.isSafeInteger(age) && age >= 0 ? age : 0}`);
}

/** Whether a page of the internet requests something in the user's own network (Private Network Access). */
function isFromNetwork(headers: PlainHeaders): boolean {
  return headers['access-control-request-private-network'] === 'true';
}

function addGrant({ acceptsQuery }: Context, answer: Answer, grant: CorsGrant): Answer {
  // That header comes later, too.
  const shown = [...Object.keys(answer.headers), ...(acceptsQuery ? ['accept-query'] : [])];
  Object.assign(answer.headers, grantHeaders(grant, shown));
  return answer;
}

/** Adds `Vary`: a cache must not return to one origin what was made for another. */
function addVary(answer: Answer): Answer {
  const { vary } = answer.headers;
  return withHeader(answer, 'vary', vary === undefined ? 'Origin' : `${vary}, Origin`);
}

/** A GET by which the browser shows the page itself: a link that a person follows. */
const NAVIGATION = { method: 'GET', mode: 'navigate', destination: 'document' } as const;

/**
 * Refuses requests that, according to the browser, a page of another site sent. Such a page can't read responses, but could make the service
 * work, and run update functions. Clients other than browsers do not state a request's origin.
 */
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
