/**
 * Source and target of a replication, as a request names them (docs/http/replication.md): the name of a database here, a URL, or an object
 * with a URL, headers and credentials.
 */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { mayBeName, shownAddress } from '../../base/system/shown-address.ts';
import type { Asker, Credentials, Endpoint } from '../contract.ts';
import { type AuthOptions, parseAuth } from './endpoint-auth.ts';
import { invalid, memberOf, textsByName } from './request-members.ts';

export type Side = 'source' | 'target';

export interface EndpointOptions extends AuthOptions {
  /** Absolute addresses of the service itself, without a slash at their ends: URLs below one of them are local. */
  readonly ownBases: readonly string[];
  /** Why the host has no network, or can't use a proxy; undefined if it can. */
  readonly noNetwork: string | undefined;
  readonly noProxy: string | undefined;
  readonly asker: Asker;
  /** See `HeaderRules`. Default: none. */
  readonly headerRules?: Omit<HeaderRules, 'isAdmin'> | undefined;
  /** Returns why the asker may not name that address; undefined if nothing is known against it. */
  readonly refusal?: ((url: string) => string | undefined) | undefined;
  /** Whether a URL leads to this service. */
  readonly isOwn?: (url: string) => Promise<boolean>;
}

const ADDRESS = /^[a-z][a-z\d+.-]*:\/\//i;

/** Fails with `bad_request`. */
export function parseEndpoint(
  side: Side,
  value: unknown,
  proxy: string | undefined,
  options: EndpointOptions,
): Endpoint {
  if (typeof value === 'string' && value !== '') return toEndpoint(side, value, {}, proxy, options);
  if (!isObject(value)) {
    throw invalid(`The \`${side}' property must exist and be either a string or an object.`);
  }
  const url = ownMember(value, 'url');
  if (typeof url !== 'string' || url === '') {
    throw invalid(`The url property must exist in the \`${side}' field and must be a non-empty string.`);
  }
  return toEndpoint(side, url, value, proxy, options);
}

function toEndpoint(
  side: Side,
  text: string,
  details: JsonObject,
  proxy: string | undefined,
  options: EndpointOptions,
): Endpoint {
  const { headerRules = { allowed: [], withMeaning: [] } } = options;
  const rules = { ...headerRules, isAdmin: options.asker.isAdmin };
  const headers = parseHeaders(`${side}.headers`, memberOf(details, 'headers'), rules);
  const given = parseAuth(`${side}.auth`, memberOf(details, 'auth'), options);
  if (!ADDRESS.test(text)) {
    if (!mayBeName(text)) throw neither(side);
    if (given !== undefined || Object.keys(headers).length > 0) throw localSecrets(side);
    return { kind: 'local', name: text };
  }
  const { url, credentials: inUrl } = parseAddress(side, text);
  const credentials = given ?? inUrl;
  const isPlain = credentials === undefined && Object.keys(headers).length === 0;
  const name = isPlain || options.noNetwork !== undefined ? ownDatabase(url, options.ownBases) : undefined;
  if (name !== undefined && !isPlain) throw localSecrets(side);
  if (name !== undefined) return { kind: 'local', name };
  if (options.noNetwork !== undefined)
    throw invalid(`The \`${side}' is not a database of this service, and ${options.noNetwork}`);
  if (proxy !== undefined && options.noProxy !== undefined) throw invalid(`A proxy can't be used: ${options.noProxy}`);
  return { kind: 'remote', url, headers, credentials, proxy };
}

/**
 * Returns the endpoint with what needs the network: whether it leads to this service. Fails with `bad_request` if the asker may not name its
 * address, or its proxy's.
 */
export async function locateEndpoint(side: Side, endpoint: Endpoint, options: EndpointOptions): Promise<Endpoint> {
  if (endpoint.kind === 'local') return endpoint;
  if ((await options.isOwn?.(endpoint.url)) === true) return { ...endpoint, proxy: undefined, isOwn: true };
  for (const address of [endpoint.url, endpoint.proxy]) {
    const why = address === undefined ? undefined : options.refusal?.(address);
    if (why !== undefined) throw invalid(`The \`${side}' can't be used: ${why}`);
  }
  return endpoint;
}

function localSecrets(side: Side): Error {
  return invalid(
    `The \`${side}' is a database of this service: it is accessed with the rights of the user who requests the replication, so remove its headers and auth.`,
  );
}

interface Address {
  readonly url: string;
  readonly credentials: Credentials | undefined;
}

/** The message does not repeat the value: it may hold a password. */
function neither(side: Side): Error {
  return invalid(`The \`${side}' must be the name of a database, or its URL with http: or https:.`);
}

/** An error message never repeats the address: it may hold a password. */
function parseAddress(side: Side, text: string): Address {
  const url = parseUrl(text);
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw neither(side);
  }
  const path = url.pathname.replace(/\/+$/, '');
  if (path === '' || url.search !== '') {
    throw invalid(`The URL of the \`${side}' must lead to a database, as http://127.0.0.1:5984/name does.`);
  }
  return { url: `${url.origin}${path}`, credentials: credentialsOf(side, url) };
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function credentialsOf(side: Side, { username, password }: URL): Credentials | undefined {
  if (username === '' && password === '') return undefined;
  try {
    return { kind: 'password', name: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    throw invalid(
      `Name and password in the URL of the \`${side}' must be percent-encoded UTF-8. You can also pass them as auth.basic.`,
    );
  }
}

/** Returns the name of a database of this service, if the URL leads to one. */
function ownDatabase(url: string, ownBases: readonly string[]): string | undefined {
  for (const base of ownBases) {
    const own = parseUrl(base);
    if (own === undefined) continue;
    const root = `${own.origin}${own.pathname.replace(/\/+$/, '')}/`;
    if (!url.startsWith(root)) continue;
    const rest = url.slice(root.length);
    if (rest !== '' && !rest.includes('/')) return decodeName(rest);
  }
  return undefined;
}

/** Whether a URL is below one of the addresses, with any scheme: a proxy that ends TLS uses another one than its clients. */
export function isBelow(url: string, bases: readonly string[]): boolean {
  const { host, pathname } = new URL(url);
  return bases.some((base) => {
    const own = parseUrl(base);
    return own?.host === host && pathname.startsWith(`${own.pathname.replace(/\/+$/, '')}/`);
  });
}

function decodeName(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** Parses the address of a proxy. Fails with `bad_request`. */
export function parseProxy(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  const url = typeof value === 'string' ? parseUrl(value) : undefined;
  if (url !== undefined && ['http:', 'socks5:'].includes(url.protocol) && url.hostname !== '') return url.href;
  throw invalid(`The \`${name}' field must be a URL with http: or socks5:, such as http://127.0.0.1:3128.`);
}

/** Returns an endpoint for display: without secrets. */
export function describeEndpoint(endpoint: Endpoint): string {
  return endpoint.kind === 'local' ? endpoint.name : `${endpoint.url}/`;
}

/** As `describeEndpoint`, for a document's text that was not parsed, or need not be; null if nothing can be shown of it. */
export function describeEndpointText(text: string): string | null {
  const shown = shownAddress(text);
  if (shown === undefined) return null;
  return mayBeName(shown) ? shown : `${shown.replace(/\/+$/, '')}/`;
}

/** Returns a proxy's address, without its credentials. */
export function describeProxy(endpoint: Endpoint): string | null {
  if (endpoint.kind === 'local' || endpoint.proxy === undefined) return null;
  const { protocol, host } = new URL(endpoint.proxy);
  return `${protocol}//${host}`;
}

/** RFC 9110, 5.6.2. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** RFC 9110, 5.5, without characters that no `fetch` sends. */
const TEXT = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/**
 * Headers that everyone may send: credentials, the sender's own keys, response preferences, and request
 * ids. Any other header may tell a server or a proxy who the user is or where a request came from, and be trusted because this service sends it.
 * New headers of that kind appear all the time, so they are not listed here.
 */
const FOR_ALL: ReadonlySet<string> = new Set([
  // Credentials.
  ...['authorization', 'cookie', 'api-key', 'apikey', 'x-api-key', 'x-api-token', 'x-access-token', 'x-csrf-token'],
  // Properties of the request, and response preferences.
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'cache-control', 'content-type', 'pragma'],
  ...['user-agent', 'x-requested-with', 'x-svc-full-commit', 'x-couch-full-commit', 'x-couchdb-full-commit'],
  // Request ids.
  ...['x-request-id', 'x-correlation-id', 'x-trace-id', 'traceparent', 'tracestate'],
]);

export interface HeaderRules {
  /** Whether the asker is an admin, who may send any header. */
  readonly isAdmin: boolean;
  /** Names, in any case, of further headers that everyone may send. */
  readonly allowed: readonly string[];
  /** Names of headers that settings give a meaning to: only admins may send them. */
  readonly withMeaning: readonly string[];
}

/**
 * Parses the headers that a request names for a database (docs/http/replication.md#headers-of-endpoints). Returns names in lower case. `part` is the member's name, for error messages.
 * Fails with `bad_request`.
 */
export function parseHeaders(part: string, value: unknown, rules: HeaderRules): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  if (!isObject(value)) throw invalid(`\`${part}' must be a non-null object.`);
  const headers = new Map<string, string>();
  for (const [name, text] of Object.entries(textsByName(value))) {
    if (!TOKEN.test(name) || !TEXT.test(text)) {
      throw invalid(
        `\`${part}' has a member that is no valid HTTP header: its name or its value contains a character that headers can't have.`,
      );
    }
    if (!rules.isAdmin && !isForAll(name, rules)) {
      throw invalid(
        `\`${part}' has ${name}: a server or a proxy may trust this header because this service sends it, so only a server admin may use it. Remove it; put credentials into auth, or into the header Authorization. An admin can allow the header with the setting replicator/allowed_headers.`,
      );
    }
    headers.set(name.toLowerCase(), text);
  }
  return Object.fromEntries(headers);
}

function isForAll(name: string, { allowed, withMeaning }: HeaderRules): boolean {
  const plain = plainName(name);
  if (withMeaning.some((other) => plainName(other) === plain)) return false;
  const lower = name.toLowerCase();
  return FOR_ALL.has(lower) || allowed.some((other) => other.toLowerCase() === lower);
}

/** Some backend servers treat `X_Auth.User` as `X-Auth-User`. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, '-');
}
