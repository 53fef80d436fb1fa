/** Whether credentials would still be those of a server admin if settings were others (docs/http.md#changes-that-lock-out). */
import { type AskingRequest, SERVER_ADMIN_ROLE } from '../../auth/contract.ts';
import { parseBearer, recogniseToken } from '../../auth/schemes/bearer-token.ts';
import { recogniseProxied } from '../../auth/schemes/proxy-headers.ts';
import { handlerNames } from '../../auth/settings.ts';
import type { Clock } from '../../shared/clock.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import type { RequestUser } from '../../shared/message.ts';
import type { Config } from '../../system/contract.ts';
import type { Context } from '../request/context.ts';
import { askingRequest } from '../response/asking-request.ts';

/** Of a request that was recognised by a token or a proxy; of others whether their handler is still asked. */
export function isAdminUnder(config: Config, clock: Clock, context: Context): MaybePromise<boolean> {
  const method = context.identity?.method ?? '';
  if (!handlerNames(config).includes(method)) return false;
  if (method !== 'proxy' && method !== 'jwt') return true;
  return whenReady(recognised(config, clock, method, askingRequest(context)), isServerAdmin);
}

function recognised(
  config: Config,
  clock: Clock,
  method: 'proxy' | 'jwt',
  request: AskingRequest,
): MaybePromise<RequestUser | undefined> {
  if (method === 'proxy') return recogniseProxied(config, request);
  return recogniseToken(config, clock, parseBearer(request.header('authorization')) ?? '').then(
    ({ user }) => user,
    () => undefined,
  );
}

function isServerAdmin(user: RequestUser | undefined): boolean {
  return user?.roles.includes(SERVER_ADMIN_ROLE) === true;
}

/** Whether there are credentials besides names and passwords by which somebody could get in: keys of tokens, or proxies. */
export function knowsOtherCredentials(config: Config & { section(name: string): object }): boolean {
  const handlers = handlerNames(config);
  const hasKeys = Object.keys(config.section('jwt_keys')).length > 0;
  const hasProxies = (config.get('httpd', 'trusted_proxies') ?? '') !== '';
  const hasSecret = (config.get('svc_httpd_auth', 'secret') ?? '') !== '';
  return (handlers.includes('jwt') && hasKeys) || (handlers.includes('proxy') && (hasProxies || hasSecret));
}
