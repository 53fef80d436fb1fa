/** The headers that a request names to be sent to a database (docs/http.md#headers-of-endpoints). */
import { isObject } from '../../json/objects.ts';
import { invalid, textsByName } from './request-members.ts';

/** RFC 9110, 5.6.2. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;
/** RFC 9110, 5.5, without what no `fetch` sends. */
const TEXT = /^[\t\u0020-\u007e\u0080-\u00ff]*$/;

/**
 * Names, in lower case with all but letters and digits as `-`, of headers that say over which way a request came or for whom it is sent, that change
 * how it is read, or that belong to the connection. A server believes them because of who sends them, which is this service.
 */
const WITH_MEANING = [
  // Who asks, as proxies say it.
  /^(?:x-)?(?:auth|authenticated|remote|webauth|forwarded|proxy|client|ssl|tls)(?:-|$)/,
  /^x-(?:real|original|originating|cluster|envoy|host|user|verified)(?:-|$)/,
  /^x-(?:goog-authenticated-user|goog-iap|ms-client-principal|ms-token|amzn-oidc)(?:-|$)/,
  /^(?:true-client-ip|cf-.*|fastly-.*|fly-.*|tailscale-.*|via|front-end-https)$/,
  // For whom and as what it is.
  /^(?:host|origin|referer|sec-.*|access-control-.*)$/,
  /^x-(?:rewrite|http-method|method|http-override|http-host|http-url)(?:-.*)?$/,
  /^x-(?:svc|couch|couchdb)-(?:vhost|requested)-path$/,
  // RFC 9110, 7.6.1, and what frames a message.
  /^(?:connection|keep-alive|te|trailer|transfer-encoding|upgrade|http2-settings|content-length|content-encoding|expect|max-forwards)$/,
] as const;

export interface HeaderRules {
  /** Whether an admin asks, who may have any header sent. */
  readonly isAdmin: boolean;
  /** Names of further headers that settings give a meaning to. */
  readonly withMeaning: readonly string[];
}

/** Gives names in lower case. `part` is the member's name, for reasons. Fails with `bad_request`. */
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
    if (!rules.isAdmin && hasMeaning(name, rules.withMeaning)) {
      throw invalid(
        `\`${part}' has ${name}: servers and proxies believe this header because of who sends it, so only a server admin may have it sent. Leave it away; credentials stand in auth, or in Authorization.`,
      );
    }
    headers.set(name.toLowerCase(), text);
  }
  return Object.fromEntries(headers);
}

function hasMeaning(name: string, configured: readonly string[]): boolean {
  const plain = plainName(name);
  return WITH_MEANING.some((pattern) => pattern.test(plain)) || configured.some((other) => plainName(other) === plain);
}

/** Some servers behind take `X_Auth.User` for `X-Auth-User`. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/[^a-z\d]/g, '-');
}
