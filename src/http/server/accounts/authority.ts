/** Whether credentials would still be those of a server admin under other settings (docs/http/server.md#changes-that-lock-out). */
import { ANONYMOUS, type AskingRequest, SERVER_ADMIN_ROLE, type TokenIssuers } from '../../../accounts/contract.ts';
import { parseBasic } from '../../../accounts/schemes/basic.ts';
import { parseBearer, recogniseToken } from '../../../accounts/schemes/bearer-token.ts';
import { recogniseProxied } from '../../../accounts/schemes/proxy-headers.ts';
import { sessionValue } from '../../../accounts/schemes/session-cookie.ts';
import { handlerNames } from '../../../accounts/settings.ts';
import type { Clock } from '../../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../../base/shared/message.ts';
import { takesPasswords } from '../../../base/system/config.ts';
import type { Config, ConfigStore } from '../../../base/system/contract.ts';
import { type Context, contextUnder } from '../../request/context.ts';
import { askingRequest } from '../../response/asking-request.ts';

/** What tokens are checked with, beside the settings. */
interface TokenCheck {
  readonly clock: Clock;
  readonly tokenIssuers: TokenIssuers | undefined;
}

/** A handler's verdict on a request; undefined if the next handler is asked. */
type Found = { readonly whyNot: string | undefined } | undefined;

/**
 * Returns why such a request would not be a server admin's under these settings; undefined if it would be. Its handlers are asked one
 * after another. `methods`: those that would recognize its sender, an admin; none if everyone is an admin.
 */
export function whyNoAdmin(
  config: ConfigStore,
  tokens: TokenCheck,
  context: Context,
  methods: readonly string[],
): MaybePromise<string | undefined> {
  const asking = askingRequest(contextUnder(config, context));
  const judge = (handler: string, user: RequestUser | undefined): Found => {
    if (user === undefined) return undefined;
    if (user.roles.includes(SERVER_ADMIN_ROLE)) return { whyNot: undefined };
    return { whyNot: methods.includes(handler) ? lost(handler) : takenOver(handler) };
  };
  const find = (handler: string): MaybePromise<Found> => {
    if (handler === 'proxy') return whenReady(recogniseProxied(config, asking), (user) => judge(handler, user));
    if (handler === 'jwt') return whenReady(tokenUser(config, tokens, asking), (user) => judge(handler, user));
    if (methods.includes(handler)) return { whyNot: undefined };
    if (methods.every(takesPasswords) || isAskedBefore(context, handler)) return undefined;
    return hasCredentials(handler, asking) ? { whyNot: takenOver(handler) } : undefined;
  };
  const [own] = methods;
  return whenReady(ask(handlerNames(config), 0, find), (found) => {
    if (found !== undefined) return found.whyNot;
    return own === undefined ? undefined : lost(own);
  });
}

function ask(
  handlers: readonly string[],
  index: number,
  find: (handler: string) => MaybePromise<Found>,
): MaybePromise<Found> {
  const handler = handlers[index];
  return handler === undefined
    ? undefined
    : whenReady(find(handler), (found) => found ?? ask(handlers, index + 1, find));
}

/** Returns the anonymous user if the token would be refused. */
function tokenUser(
  config: ConfigStore,
  { clock, tokenIssuers }: TokenCheck,
  asking: AskingRequest,
): MaybePromise<RequestUser | undefined> {
  const token = parseBearer(asking.header('authorization'));
  if (token === undefined) return undefined;
  return recogniseToken(config, clock, token, tokenIssuers).then(
    ({ user }) => user,
    () => ANONYMOUS,
  );
}

function lost(handler: string): string {
  return `your credentials, which are those of the handler ${handler}, would make nobody an admin any more`;
}

function takenOver(handler: string): string {
  return `the handler ${handler} would take this very request for one of somebody who is no admin`;
}

/** Whether that handler was asked before the one that recognized the request, and did not recognize it. */
function isAskedBefore({ identity, services }: Context, handler: string): boolean {
  const handlers = handlerNames(services.config);
  const at = handlers.indexOf(handler);
  return identity === undefined ? at >= 0 : at >= 0 && at < handlers.indexOf(identity.method);
}

function hasCredentials(handler: string, asking: AskingRequest): boolean {
  if (handler === 'cookie') return sessionValue(asking.header('cookie')) !== undefined;
  const authorization = asking.header('authorization');
  if (handler === 'default') return parseBasic(authorization) !== undefined;
  return asking.search.includes('oauth_signature=') || /^oauth /i.test(authorization ?? '');
}

/** Whether credentials other than names and passwords would let someone in: keys of tokens, or proxies. */
export function knowsOtherCredentials(config: Config & { section(name: string): object }): boolean {
  const handlers = handlerNames(config);
  const hasKeys = ['jwt_keys', 'jwt_issuers'].some((name) => Object.keys(config.section(name)).length > 0);
  const hasProxies = (config.get('httpd', 'trusted_proxies') ?? '') !== '';
  const hasSecret = (config.get('svc_httpd_auth', 'secret') ?? '') !== '';
  return (handlers.includes('jwt') && hasKeys) || (handlers.includes('proxy') && (hasProxies || hasSecret));
}
