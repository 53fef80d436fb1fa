/**
 * Cross-origin resource sharing (docs/http/requests.md#cors, and the Fetch standard, 3.3): which pages of other origins may ask, and how their browsers
 * are told. It applies to every answer, refusals included, and it answers preflights before anybody is asked who sent them.
 */
import { whenReady } from '../../base/shared/maybe-promise.ts';
import type { PlainHeaders } from '../../base/shared/message.ts';
import { booleanSetting } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import type { Answer, Context, Handler } from '../request/context.ts';
import { withHeader } from '../response/responses.ts';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT', 'COPY', 'OPTIONS'];

/** What requests may have where `cors/headers` is unset. */
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
  'x-couch-full-commit',
  'x-couch-persist',
  'x-couchdb-www-authenticate',
  'x-http-method-override',
  'x-requested-with',
  'x-svc-full-commit',
  'x-svc-persist',
  'x-svc-www-authenticate',
];

/** What pages may read of an answer that has it, beside what they always may. */
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
  'x-svc-id',
  'x-svc-update-newrev',
];

/** That a page of this origin may ask. */
export interface CorsGrant {
  readonly origin: string;
  /** With cookies and the like. */
  readonly credentials: boolean;
  /** Whether the setting names the origin, rather than all. */
  readonly isNamed: boolean;
}

/** The settings for one host, over those for all. */
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
 * Undefined where the page may not ask. All origins together with credentials are granted to nobody: any page could act as whoever is logged
 * in then.
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

/** The headers that say so; `shown` are the names of those that the answer has. For answers that are made in front of the service, too. */
export function grantHeaders(grant: CorsGrant, shown: Iterable<string>): Record<string, string> {
  // Every answer gets that one in the end.
  const names = new Set(['server', ...[...shown].map((name) => name.toLowerCase())]);
  const exposed = SHOWN_HEADERS.filter((name) => names.has(name));
  return {
    'access-control-allow-origin': grant.origin,
    ...(grant.credentials && { 'access-control-allow-credentials': 'true' }),
    'access-control-expose-headers': exposed.join(', '),
  };
}

/** `hostOf`: by which name the client knows the service. */
export function shareAcrossOrigins(hostOf: (context: Context) => string | undefined, next: Handler): Handler {
  return (context) => {
    const { config } = context.services;
    if (!isCorsEnabled(config)) return next(context);
    const host = hostOf(context);
    const grant = grantOf(config, context.header('origin'), host);
    if (grant === undefined) return whenReady(next(context), addVary);
    const settings = new HostSettings(config, host);
    const preflight = context.request.method === 'OPTIONS' ? answerPreflight(context, settings, grant) : undefined;
    if (preflight !== undefined) return addVary(preflight);
    context.sharedWith = grant;
    return whenReady(next(context), (answer) => addVary(addGrant(answer, grant)));
  };
}

/** Undefined where something is asked for that is not granted: the request is answered like any other then, and the browser goes no further. */
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

/** A page of the internet asks for something on a network of its own (Private Network Access). */
function isFromNetwork(headers: PlainHeaders): boolean {
  return headers['access-control-request-private-network'] === 'true';
}

function addGrant(answer: Answer, grant: CorsGrant): Answer {
  Object.assign(answer.headers, grantHeaders(grant, Object.keys(answer.headers)));
  return answer;
}

/** A cache must not give what was made for one origin to another. */
function addVary(answer: Answer): Answer {
  const { vary } = answer.headers;
  return withHeader(answer, 'vary', vary === undefined ? 'Origin' : `${vary}, Origin`);
}
