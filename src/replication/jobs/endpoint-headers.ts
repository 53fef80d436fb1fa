/** The headers that a request names for a database (docs/http/replication.md#headers-of-endpoints). */
import { isObject } from '../../base/json/objects.ts';
import { invalid, textsByName } from './request-members.ts';

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

/** Returns names in lower case. `part` is the member's name, for error messages. Fails with `bad_request`. */
export function parseHeaders(part: string, value: unknown, rules: HeaderRules): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  if (!isObject(value)) throw invalid(`\`${part}' must be a non-null object.`);
  const headers = new Map<string, string>();
  for (const [name, text] of Object.entries(textsByName(value))) {
    if (!TOKEN.test(name) || !TEXT.test(text)) {
      throw invalid(
        `\`${part}' has a member that can't be a header: its name or value has characters that none may have.`,
      );
    }
    if (!rules.isAdmin && !isForAll(name, rules)) {
      throw invalid(
        `\`${part}' has ${name}: a server or a proxy may believe this header because of who sends it, so only a server admin may have it sent. Leave it away; credentials stand in auth, or in Authorization. An admin can permit it by the setting replicator/allowed_headers.`,
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
