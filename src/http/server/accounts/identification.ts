/**
 * Finds out who sent a request, before anything is done for it (docs/http/accounts.md#authentication). Without credentials that is nobody, or while
 * there is no admin, everybody: this is decided in the same turn, and accounts are not loaded for it.
 */
import { ANONYMOUS } from '../../../accounts/contract.ts';
import { DatabaseError } from '../../../base/errors/database-error.ts';
import { type MaybePromise, orElse, whenReady } from '../../../base/shared/maybe-promise.ts';
import { answerErrors } from '../../middleware/errors.ts';
import { isReadOnlyRequest } from '../../request/address/read-only-requests.ts';
import { originOf } from '../../request/address/target.ts';
import { isStream } from '../../request/bodies.ts';
import type { Answer, Context, Handler } from '../../request/context.ts';
import { assertKept, isSurelyKept } from '../../request/kept-rights.ts';
import { askingRequest } from '../../response/asking-request.ts';
import { withCookie, withReader } from '../../response/responses.ts';
import type { AccountsPart } from './accounts-part.ts';

/**
 * Renews the session of who sent a request, where that is due, with whatever the answer is: who gets errors works, too. `next` answers
 * failures, too.
 */
export function renewSession(next: Handler): Handler {
  return (context) =>
    whenReady(next(context), (answer) => {
      const setCookie = context.identity?.setCookie;
      return setCookie === undefined || setsSession(answer) ? answer : withCookie(answer, setCookie);
    });
}

/** Whether the answer ends the session, or begins another one. */
function setsSession({ headers }: Answer): boolean {
  return headers['set-cookie']?.includes(COOKIE) === true;
}

/** A refusal for lack of rights says how to log in, unless accounts can't be loaded. `next` answers failures, too. */
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

/** Says for whom the answer is (docs/http/answers.md#common-headers). While everybody may do everything it is the same for all who send no credentials. */
function forReader({ request, identity, grant, services }: Context, answer: Answer): Answer {
  if (request.user !== undefined) return answer;
  if (identity === undefined && services.access.isOpenToAll) return answer;
  const isSameForAll = grant === undefined && answer.headers['cache-control']?.startsWith('public') === true;
  return isSameForAll ? answer : withReader(answer, identity !== undefined);
}

/** What took long to read is for those alone who may read it still. */
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
/** Where everybody may ask, also if anonymous clients are refused everywhere else: logging in is one of them. */
const OPEN_PATH = /^\/+(?:_session|_up)\/*(?:[?#]|$)/;
/** What makes a server admin. As long as there is none nobody could be let in otherwise, and everybody may. */
const FIRST_ADMIN: Readonly<Record<string, RegExp>> = {
  PUT: /^\/+(?:_node\/+[^/?#]+\/+)?_config\/+admins\/+[^/?#]+\/*(?:[?#]|$)/,
  POST: /^\/+_cluster_setup\/*(?:[?#]|$)/,
};

export function identify(accounts: () => MaybePromise<AccountsPart>, next: Handler): Handler {
  return (context) => {
    context.rightsSeen = context.services.access.rightsVersion;
    if (context.request.user !== undefined) return next(context);
    if (!hasCredentials(context)) {
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

/** Whether anything in the request may be credentials of any of the handlers. */
function hasCredentials(context: Context): boolean {
  const { request, services } = context;
  return (
    context.header('authorization') !== undefined ||
    context.header('cookie')?.includes(COOKIE) === true ||
    request.url.includes('oauth_signature=') ||
    services.config.get('httpd', 'authentication_handlers')?.includes('proxy') === true
  );
}

/** Fails with `unauthorized`. Nobody is an admin then without having logged in, also while there is none. */
function requireUser(context: Context): void {
  const { user, method, request, services } = context;
  if (user.name !== null || !services.access.requiresUser) return;
  const path = request.url.slice(originOf(request.url)?.length ?? 0).slice(services.basePath.length);
  if (user.roles.length > 0 && FIRST_ADMIN[method]?.test(path) === true) return;
  context.user = ANONYMOUS;
  if (OPEN_PATH.test(path)) return;
  throw new DatabaseError('unauthorized', 'Authentication required.');
}
