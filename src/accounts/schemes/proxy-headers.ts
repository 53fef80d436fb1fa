/**
 * A proxy in front of the service has authenticated the user, and says so in headers (docs/http/accounts.md#proxies-that-authenticate). Anyone can
 * send headers: they count only from proxies that the operator named, or with a token made with the secret. Otherwise they are ignored.
 */

import { toHex } from '../../base/shared/bytes.ts';
import { areEqualSecrets } from '../../base/shared/constant-time.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import { addressListSetting } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import { type AskingRequest, SERVER_ADMIN_ROLE } from '../contract.ts';
import { hmacSha1 } from '../passwords/key-derivation.ts';
import { authFlag } from '../settings.ts';

const PROXY_HEADERS = ['x_auth_username', 'x_auth_roles', 'x_auth_token'] as const;
type ProxyHeader = (typeof PROXY_HEADERS)[number];

const NAMES: Readonly<Record<ProxyHeader, { readonly own: string; readonly original: string }>> = {
  x_auth_username: { own: 'X-Auth-Svc-UserName', original: 'X-Auth-CouchDB-UserName' },
  x_auth_roles: { own: 'X-Auth-Svc-Roles', original: 'X-Auth-CouchDB-Roles' },
  x_auth_token: { own: 'X-Auth-Svc-Token', original: 'X-Auth-CouchDB-Token' },
};

export function recogniseProxied(config: Config, request: AskingRequest): MaybePromise<RequestUser | undefined> {
  const name = proxiedName(config, request);
  if (name === undefined) return undefined;
  const user = { name, roles: rolesOf(proxyHeader(config, request, 'x_auth_roles') ?? '') };
  const isTrusted =
    request.peer !== undefined && addressListSetting(config, 'httpd', 'trusted_proxies').includes(request.peer);
  if (!authFlag(config, 'proxy_use_secret')) return isTrusted ? user : undefined;
  const secret = config.get('svc_httpd_auth', 'secret') ?? '';
  const token = proxyHeader(config, request, 'x_auth_token');
  if (secret === '' || token === undefined) return undefined;
  return hmacSha1(secret, name).then((expected) =>
    areEqualSecrets(toHex(expected), token.toLowerCase()) ? user : undefined,
  );
}

/** Returns the name of the user whom a proxy authenticated, according to the request; undefined if it names none. */
export function proxiedName(config: Config, request: Pick<AskingRequest, 'header'>): string | undefined {
  return proxyHeader(config, request, 'x_auth_username') || undefined;
}

/**
 * Reads the header under the configured name; if that is the default, under the family's original name, too. A proxy drops client headers with the
 * names that it sends itself: if a request has headers under both names, the others may be a client's, and all are ignored.
 */
function proxyHeader(config: Config, request: Pick<AskingRequest, 'header'>, key: ProxyHeader): string | undefined {
  const name = config.get('svc_httpd_auth', key) || NAMES[key].own;
  if (name !== NAMES[key].own) return request.header(name.toLowerCase());
  const own = given(config, request, 'own');
  const original = given(config, request, 'original');
  if (own.size === 0 || original.size === 0) return own.get(key) ?? original.get(key);
  return [...own].every(([other, value]) => original.get(other) === value) && own.size === original.size
    ? own.get(key)
    : undefined;
}

/** Returns the request's headers under the names of one kind, if those are not configured otherwise. */
function given(
  config: Config,
  request: Pick<AskingRequest, 'header'>,
  kind: 'own' | 'original',
): ReadonlyMap<ProxyHeader, string> {
  const found = new Map<ProxyHeader, string>();
  for (const key of PROXY_HEADERS) {
    const isDefault = (config.get('svc_httpd_auth', key) || NAMES[key].own) === NAMES[key].own;
    const value = isDefault ? request.header(NAMES[key][kind].toLowerCase()) : undefined;
    if (value !== undefined) found.set(key, value);
  }
  return found;
}

/** The only role of the service's own that a proxy can grant is that of server admins. */
export function rolesOf(text: string): readonly string[] {
  return outsideRoles(text.split(',').map((role) => role.trim()));
}

export function outsideRoles(roles: readonly string[]): readonly string[] {
  return roles.filter((role) => role !== '' && (!role.startsWith('_') || role === SERVER_ADMIN_ROLE));
}
