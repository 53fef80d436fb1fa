/**
 * Prevents a setting change over HTTP from locking out its sender and the admins of the configuration (docs/http/server.md#changes-that-lock-out).
 * Files and start options are changed by the operator, who has other ways in.
 */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import { authenticationHandlers, integerSetting, takesPasswords } from '../../../base/system/config.ts';
import type { ConfigStore, SettingName } from '../../../base/system/contract.ts';
import { isHiddenByHost } from '../../middleware/gateway.ts';
import { type Context, contextUnder } from '../../request/context.ts';
import type { AdministrationService } from './administration-service.ts';

const ADMINS = 'admins';
/** Sections, and settings of other sections, that determine who has access. */
const SECTIONS = /^(?:admins|svc_httpd_auth|svc_httpd_oauth|oauth_\w+|jwt_auth|jwt_keys|jwt_issuers|vhosts)$/;
const HTTPD = /^(?:authentication_handlers|trusted_proxies|x_forwarded_\w+|vhost_global_handlers|max_connections)$/;
/** With fewer, other and faster clients could use all connections: the setting could not be changed back. */
const MIN_CONNECTIONS = 16;

/** While everyone is an admin, no one needs to be recognized. */
const NOBODYS: readonly string[] = [];

/** A requested change; without a value the default applies. */
export interface SettingChange extends SettingName {
  readonly value: string | undefined;
}

/** Fails with `bad_request` if the change would lock out. `next`: the settings after the change. */
export function assertKeepsAccess(
  service: AdministrationService,
  context: Context,
  change: SettingChange,
  next: ConfigStore,
): MaybePromise<void> {
  const { section, key } = change;
  if (!SECTIONS.test(section) && !(section === 'httpd' && HTTPD.test(key))) return;
  assertConnections(next, change);
  assertReachable(context, change, next);
  assertAdmins(service, context, change, next);
  return assertAsker(service, context, change, next);
}

function assertConnections(next: ConfigStore, { key }: SettingChange): void {
  if (key !== 'max_connections') return;
  const most = integerSetting(next, 'httpd', 'max_connections') ?? 0;
  if (most === 0 || most >= MIN_CONNECTIONS) return;
  throw lockedOut(
    `with so few connections httpd/max_connections could not be changed back while others have them`,
    `set ${MIN_CONNECTIONS} at least, or fewer in the file of the settings or by --set`,
  );
}

/** Checks that these paths stay reachable under the host that the request would then have. */
function assertReachable(context: Context, { section, key }: SettingChange, next: ConfigStore): void {
  const own = `_config/${encodeURIComponent(section)}/${encodeURIComponent(key)}`;
  const later = contextUnder(next, context);
  for (const path of ['/_config', '/_node', '/_session', `/${own}`, `/_node/_local/${own}`]) {
    if (isHiddenByHost(context, path) || !isHiddenByHost(later, path)) continue;
    const [, resource = ''] = path.split('/');
    throw lockedOut(
      `by the name of the server that this request has, ${path} would not be reached any more`,
      `send the request by another name that no virtual host stands for, or name ${resource} in httpd/vhost_global_handlers`,
    );
  }
}

/** Checks that admins who can log in still can afterwards, unless the change is about them. */
function assertAdmins(
  service: AdministrationService,
  context: Context,
  change: SettingChange,
  next: ConfigStore,
): void {
  const { config } = context.services;
  const admins = Object.entries(next.section(ADMINS));
  for (const [name, text] of admins) {
    const why = service.whyUnusable(next, text);
    const isOwnChange = change.section === ADMINS && change.key === name;
    if (why === undefined || (!isOwnChange && service.whyUnusable(config, text) !== undefined)) continue;
    throw lockedOut(
      `the admin ${name} could not log in: ${why}`,
      `give ${name} a new password, or change those settings, first`,
    );
  }
  const isDeletion = change.section === ADMINS && change.value === undefined;
  if (isDeletion && admins.length > 0 && admins.every(([, text]) => service.whyUnusable(next, text) !== undefined)) {
    throw lockedOut('none of the admins that are left can log in', 'make another admin first');
  }
}

/** Checks whether this very request would still be an admin's under the next settings. */
function assertAsker(
  service: AdministrationService,
  context: Context,
  change: SettingChange,
  next: ConfigStore,
): MaybePromise<void> {
  const methods = methodsUnder(service, context, change, next);
  if (methods === undefined) return;
  return whenReady(service.whyNoAdmin(next, context, methods), (why) => {
    if (why === undefined) return;
    throw lockedOut(
      why,
      'name cookie and default before other handlers, or headers that only the proxy sends; or log in as an admin of the configuration, by name and password alone',
    );
  });
}

/** Returns the methods that would recognize the sender; undefined if there is nothing to check. */
function methodsUnder(
  service: AdministrationService,
  context: Context,
  { section, key, value }: SettingChange,
  next: ConfigStore,
): readonly string[] | undefined {
  const handlers = authenticationHandlers(next);
  const byPassword = handlers.filter((name) => takesPasswords(name));
  const { identity, user, services } = context;
  if (identity === undefined) {
    if (Object.keys(next.section(ADMINS)).length === 0) return NOBODYS;
    // The first admin ends the period in which everyone is one.
    const isFirst = Object.keys(services.config.section(ADMINS)).length === 0;
    if (byPassword.length > 0) return byPassword;
    if (!isFirst || service.knowsOthers(next)) return undefined;
    throw lockedOut(
      'no admin could log in, since httpd/authentication_handlers names neither cookie nor default',
      'name one of them first',
    );
  }
  if (!isAccount(identity.method)) return [identity.method];
  // Admins may remove their own account; a password can be sent again.
  if (section === ADMINS && key === user.name && value === undefined) return undefined;
  if (byPassword.length > 0) return byPassword;
  if (identity.method === 'oauth' && !section.includes('oauth') && handlers.includes('oauth')) return ['oauth'];
  throw lockedOut(
    'you could no longer log in with your name and password',
    'log in with one of the remaining handlers first',
  );
}

/** Whether the method recognizes admins of the section, who have a password. */
function isAccount(method: string): boolean {
  return takesPasswords(method) || method === 'oauth';
}

function lockedOut(why: string, remedy: string): DatabaseError {
  return new DatabaseError(
    'bad_request',
    `The change would lock out admins, so nothing was changed: ${why}. To make the change, ${remedy}.`,
  );
}
