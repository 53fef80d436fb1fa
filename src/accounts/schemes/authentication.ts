/**
 * The chain of handlers that authenticate a request (docs/http/accounts.md#authentication), in the order of the configuration. The first that
 * recognises credentials decides: wrong ones are refused, whatever other credentials the request has.
 */
import type { Clock } from '../../base/shared/clock.ts';
import { type MaybePromise, orElse, whenReady } from '../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import { type Account, type AccountStore, saltOf, userOf } from '../accounts/account-store.ts';
import { isRefused, type LoginFailure, type LoginFailureLog } from '../accounts/login-failure-log.ts';
import { type Logins, usable, wrongPassword } from '../accounts/logins.ts';
import { ANONYMOUS, type AskingRequest, type Authenticator, type Identity, type TokenIssuers } from '../contract.ts';
import { handlerNames } from '../settings.ts';
import { isNobody, parseBasic } from './basic.ts';
import { parseBearer, recogniseToken } from './bearer-token.ts';
import type { OAuth } from './oauth.ts';
import { proxiedName, recogniseProxied } from './proxy-headers.ts';
import { type LiveSession, type SessionCookies, sessionValue } from './session-cookie.ts';

export interface AuthenticationOptions {
  readonly config: ConfigStore;
  readonly clock: Clock;
  readonly accounts: AccountStore;
  readonly logins: Logins;
  readonly cookies: SessionCookies;
  readonly oauth: OAuth;
  readonly failures: LoginFailureLog;
  /** See `CoreOptions`. */
  readonly tokenIssuers?: TokenIssuers | undefined;
}

type Recognise = (request: AskingRequest) => MaybePromise<Identity | undefined>;

export class Authentication implements Authenticator {
  readonly #options: AuthenticationOptions;
  readonly #handlers: ReadonlyMap<string, Recognise>;
  #ordered: { readonly setting: string | undefined; readonly handlers: readonly Recognise[] } | undefined;

  constructor(options: AuthenticationOptions) {
    this.#options = options;
    this.#handlers = new Map<string, Recognise>([
      ['cookie', (request) => this.#byCookie(request)],
      ['default', (request) => this.#byPassword(request)],
      ['proxy', (request) => this.#byProxy(request)],
      ['jwt', (request) => this.#byToken(request)],
      ['oauth', (request) => this.#bySignature(request)],
    ]);
  }

  identify(request: AskingRequest): MaybePromise<Identity | undefined> {
    return this.#ask(this.#order(), 0, request);
  }

  /** Returns the handlers in the configured order; the setting is parsed again when it has changed. */
  #order(): readonly Recognise[] {
    const { config } = this.#options;
    const setting = config.get('httpd', 'authentication_handlers');
    if (this.#ordered === undefined || this.#ordered.setting !== setting) {
      const handlers = handlerNames(config).flatMap((name) => this.#handlers.get(name) ?? []);
      this.#ordered = { setting, handlers };
    }
    return this.#ordered.handlers;
  }

  /** Synchronous if no handler has to wait. */
  #ask(handlers: readonly Recognise[], index: number, request: AskingRequest): MaybePromise<Identity | undefined> {
    const recognise = handlers[index];
    if (recognise === undefined) return undefined;
    return whenReady(recognise(request), (identity) => identity ?? this.#ask(handlers, index + 1, request));
  }

  #byCookie(request: AskingRequest): MaybePromise<Identity | undefined> {
    const value = sessionValue(request.header('cookie'));
    if (value === undefined) return undefined;
    const { cookies } = this.#options;
    return whenReady(cookies.recognise(value), (session) => {
      if (session === 'wrong') this.#note('the cookie of a session', undefined, request);
      if (session === undefined || session === 'wrong') return undefined;
      const identity = this.#identityOfSession(session);
      if (!session.isDue) return identity;
      return cookies.renew(session, request.way).then((setCookie) => ({ ...identity, setCookie }));
    });
  }

  #identityOfSession({ account, holds }: LiveSession): Identity {
    const { user, method } = this.#identityOf(usable(account), 'cookie');
    const recheck = () => this.#recheck(account);
    return { user, method, recheck: () => (holds() ? recheck() : undefined), recheckBeyondSession: recheck };
  }

  #byPassword(request: AskingRequest): MaybePromise<Identity | undefined> {
    const given = parseBasic(request.header('authorization'));
    if (given === undefined) return undefined;
    if (given === 'malformed') {
      this.#note('a password', undefined, request);
      throw wrongPassword();
    }
    if (isNobody(given)) return identity(ANONYMOUS, 'default', () => ANONYMOUS);
    const { name, password } = given;
    const account = this.#noting('a password', name, request, () =>
      this.#options.logins.logIn(name, password, request.address),
    );
    return whenReady(account, (found) => this.#identityOf(found, 'default'));
  }

  #byProxy(request: AskingRequest): MaybePromise<Identity | undefined> {
    const { config } = this.#options;
    const name = proxiedName(config, request);
    if (name === undefined) return undefined;
    return whenReady(recogniseProxied(config, request), (user) => {
      if (user === undefined) this.#note('a proxy', name, request);
      // It depends only on the configuration.
      return user && identity(user, 'proxy', () => recogniseProxied(config, request));
    });
  }

  #byToken(request: AskingRequest): MaybePromise<Identity | undefined> {
    const token = parseBearer(request.header('authorization'));
    if (token === undefined) return undefined;
    const { config, clock, tokenIssuers } = this.#options;
    const asked = this.#noting('a token', undefined, request, () => recogniseToken(config, clock, token, tokenIssuers));
    return whenReady(asked, (recognised) => {
      const { user, until } = recognised;
      const recheck = () => (handlerNames(config).includes('jwt') ? recognised.current(config) : undefined);
      const hasEnded = () => until !== undefined && until <= clock.now();
      return { user, method: 'jwt', until, recheck, recheckBeyondSession: () => (hasEnded() ? undefined : recheck()) };
    });
  }

  #bySignature(request: AskingRequest): MaybePromise<Identity | undefined> {
    const asked = this.#noting('OAuth', undefined, request, () => this.#options.oauth.recognise(request));
    return whenReady(asked, (account) => account && this.#identityOf(account, 'oauth'));
  }

  #noting<T>(
    way: LoginFailure['way'],
    name: string | undefined,
    request: AskingRequest,
    work: () => MaybePromise<T>,
  ): MaybePromise<T> {
    return orElse(work, (error) => {
      if (isRefused(error)) this.#note(way, name, request);
      throw error;
    });
  }

  #note(way: LoginFailure['way'], name: string | undefined, { address }: AskingRequest): void {
    this.#options.failures.note({ way, name, address });
  }

  #identityOf(account: Account, method: string): Identity {
    return identity(userOf(account), method, () => this.#recheck(account));
  }

  /** Roles may change; a user whose password was changed has to log in again. */
  #recheck(before: Account): MaybePromise<RequestUser | undefined> {
    return whenReady(this.#options.accounts.find(before.name), (account) => {
      const isSame = account !== undefined && !account.hasConflicts && saltOf(account) === saltOf(before);
      return isSame && account.hash?.key === before.hash?.key ? userOf(account) : undefined;
    });
  }
}

/** For credentials that are not a session. */
function identity(user: RequestUser, method: string, recheck: Identity['recheck']): Identity {
  return { user, method, recheck, recheckBeyondSession: recheck };
}
