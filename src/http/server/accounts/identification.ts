/**
 * Finds out who sent a request, before anything is done for it (docs/http/accounts.md#authentication). Without credentials the sender is anonymous
 * or, while there is no admin, may do everything: this is decided in the same turn, and accounts are not loaded for it.
 */
import { ANONYMOUS } from '../../../accounts/contract.ts';
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { type MaybePromise, orElse, whenReady } from '../../../base/shared/maybe-promise.ts';
import type { Config, ConfigStore } from '../../../base/system/contract.ts';
import { originOf } from '../../request/address.ts';
import { isStream } from '../../request/bodies.ts';
import type { Answer, Context, Handler } from '../../request/context.ts';
import { assertKept, isSurelyKept } from '../../request/kept-rights.ts';
import { isReadOnlyRequest } from '../../request/read-only-requests.ts';
import { askingRequest } from '../../response/asking-request.ts';
import { answerErrors } from '../../response/error-table.ts';
import { withCookie, withReader } from '../../response/responses.ts';
import type { AccountsPart } from './accounts-part.ts';

/**
 * Renews the sender's session, if due, with any response: a client that gets errors is active, too. `next` answers
 * failures, too.
 */
export function renewSession(next: Handler): Handler {
  return (context) =>
    whenReady(next(context), (answer) => {
      const setCookie = context.identity?.setCookie;
      return setCookie === undefined || setsSession(answer) ? answer : withCookie(answer, setCookie);
    });
}

/** Whether the response ends the session, or begins another one. */
function setsSession({ headers }: Answer): boolean {
  return headers['set-cookie']?.includes(COOKIE) === true;
}

/** Adds to a refusal for lack of rights how to log in, unless accounts can't be loaded. `next` answers failures, too. */
export function challengeRefused(accounts: () => MaybePromise<AccountsPart>, next: Handler): Handler {
  return (context) =>
    whenReady(next(context), (given) =>
      whenReady(stillGranted(context, given), (granted) => {
        const answer = forReader(context, granted);
        if (answer.status !== 401) return answer;
        const challenged = () => whenReady(accounts(), (part) => part.challenge(context, answer));
        return orElse(challenged, () => answer);
      }),
    );
}

/** States for whom the response is (docs/http/answers.md#common-headers). While everyone may do everything, all without credentials get the same. */
function forReader({ request, identity, grant, services }: Context, answer: Answer): Answer {
  if (request.user !== undefined) return answer;
  if (identity === undefined && services.access.isOpenToAll) return answer;
  const isSameForAll = grant === undefined && answer.headers['cache-control']?.startsWith('public') === true;
  return isSameForAll ? answer : withReader(answer, identity !== undefined);
}

/** Withholds a response that took long to read from a client that may no longer read it. */
function stillGranted(context: Context, answer: Answer): MaybePromise<Answer> {
  if (isSurelyKept(context) || answer.status >= 400) return answer;
  if (!isReadOnlyRequest(context.request, `${context.services.basePath}/`)) return answer;
  const judged = async () => {
    try {
      await assertKept(context);
      return answer;
    } catch (failure) {
      if (isStream(answer.body)) await answer.body.cancel(failure);
      throw failure;
    }
  };
  return answerErrors(judged)(context);
}

const COOKIE = 'AuthSession=';
/** Paths open to everyone, even if anonymous clients are refused everywhere else: logging in is one of them, and the page for it. */
const OPEN_PATH = /^\/+(?:(?:_session|_up)\/*(?:[?#]|$)|_utils(?:[/?#]|$))/;
/** Requests that make a server admin. While there is none, everyone may send them, since no one could be admitted otherwise. */
const FIRST_ADMIN: Readonly<Record<string, RegExp>> = {
  PUT: /^\/+(?:_node\/+[^/?#]+\/+)?_config\/+admins\/+[^/?#]+\/*(?:[?#]|$)/,
  POST: /^\/+_cluster_setup\/*(?:[?#]|$)/,
};

export function identify(config: ConfigStore, accounts: () => MaybePromise<AccountsPart>, next: Handler): Handler {
  let trustsProxies = areProxiesTrusted(config);
  config.onChange(({ section, key }) => {
    if (section === 'httpd' && key === 'authentication_handlers') trustsProxies = areProxiesTrusted(config);
  });
  return (context) => {
    context.rightsSeen = context.services.access.rightsVersion;
    if (context.request.user !== undefined) return next(context);
    if (!trustsProxies && !hasCredentials(context)) {
      context.user = context.services.access.withoutCredentials;
      requireUser(context);
      return next(context);
    }
    return whenReady(accounts(), (part) => identifyAndGoOn(part, context, next));
  };
}

function identifyAndGoOn({ authenticator }: AccountsPart, context: Context, next: Handler): MaybePromise<Answer> {
  return whenReady(authenticator.identify(askingRequest(context)), (identity) => {
    context.identity = identity;
    context.user = identity?.user ?? context.services.access.withoutCredentials;
    requireUser(context);
    return next(context);
  });
}

/** Whether proxies may state in headers of any name who sent a request. */
function areProxiesTrusted(config: Config): boolean {
  return config.get('httpd', 'authentication_handlers')?.includes('proxy') === true;
}

/** Whether anything in the request may be credentials of any of the other handlers. */
function hasCredentials(context: Context): boolean {
  return (
    context.header('authorization') !== undefined ||
    context.header('cookie')?.includes(COOKIE) === true ||
    context.request.url.includes('oauth_signature=')
  );
}

/** Fails with `unauthorized`. Then no one is an admin without logging in, even while there is none. */
function requireUser(context: Context): void {
  const { user, method, request, services } = context;
  if (user.name !== null || !services.access.requiresUser) return;
  const path = request.url.slice(originOf(request.url)?.length ?? 0).slice(services.basePath.length);
  if (user.roles.length > 0 && FIRST_ADMIN[method]?.test(path) === true) return;
  context.user = ANONYMOUS;
  if (OPEN_PATH.test(path)) return;
  throw new DatabaseError('unauthorized', 'Authentication required.');
}
