/** Who sends a request, and how that is known (docs/http/accounts.md#authentication). */
import type { Clock } from '../base/shared/clock.ts';
import type { MaybePromise } from '../base/shared/maybe-promise.ts';
import type { RequestUser } from '../base/shared/message.ts';
import type { Config } from '../base/system/contract.ts';

export const SERVER_ADMIN_ROLE = '_admin';

/** The prefix of a user document's id; the user's name follows. Foreign peers know no other. */
export const USER_PREFIX = 'org.couchdb.user:';

/** The longest user name, in characters: no one logs in with a longer one. */
export const MAX_NAME_LENGTH = 1_024;

export const ANONYMOUS: RequestUser = { name: null, roles: [] };

/** Every user, while there is no admin. */
export const ADMIN_PARTY: RequestUser = { name: null, roles: [SERVER_ADMIN_ROLE] };

/** What the service now knows of a name, for operations that a user of that name started earlier. */
export type Standing =
  | { readonly kind: 'account'; readonly roles: readonly string[] }
  /** The account was deleted, or can't be used. */
  | { readonly kind: 'gone' }
  /** There never was an account here. `mayLogIn`: a proxy or a token may vouch for such a user. */
  | { readonly kind: 'unknown'; readonly mayLogIn: boolean };

/** How the client connects: by https, by http to this machine under a name that browsers treat as local, or by http from elsewhere. */
export type Way = 'https' | 'local' | 'http';

/** The part of a request that tells who sent it. */
export interface AskingRequest {
  readonly method: string;
  /** As the client knows it: absolute if the host is known. */
  readonly url: string;
  /** What follows the `?` of the address, as it was sent; empty if there is none. */
  readonly search: string;
  /** The IP address of the connection. */
  readonly peer: string | undefined;
  /** The IP address of its sender, who may be behind a trusted proxy; empty if there is none. */
  readonly address: string;
  readonly way: Way;
  /** `name` in lower case. */
  header(name: string): string | undefined;
}

/** An authenticated client. */
export interface Identity {
  readonly user: RequestUser;
  /** The name of the handler that recognised the credentials. */
  readonly method: string;
  /** The value of `Set-Cookie` for the response, if the session is to be renewed. */
  readonly setCookie?: string | undefined;
  /** Milliseconds since the epoch: when a token expires. There may be no other sign that its user's account is gone. */
  readonly until?: number | undefined;
  /** Returns the user as it is now; undefined if the credentials would be refused now, for another reason than their age. */
  recheck(): MaybePromise<RequestUser | undefined>;
  /** As `recheck`, for operations without an end of their own: an ended session counts as none, an expired token as wrong. */
  recheckBeyondSession(): MaybePromise<RequestUser | undefined>;
}

export interface Authenticator {
  /**
   * Returns undefined if the request has no credentials, or none that a configured handler recognises. Fails with `unauthorized` if
   * they are wrong.
   */
  identify(request: AskingRequest): MaybePromise<Identity | undefined>;
}

/** The user of a valid token. */
export interface RecognisedToken {
  readonly user: RequestUser;
  /** Milliseconds since the epoch; undefined for a token that never expires. */
  readonly until: number | undefined;
  /** Returns its user by the present settings and keys; undefined if it would be refused now, for another reason than its age. */
  current(config: TokenConfig): MaybePromise<RequestUser | undefined>;
}

export type TokenConfig = Config & { section(name: string): Readonly<Record<string, string>> };

/** The issuers of tokens whose keys a host fetches (docs/http/accounts.md#openid-providers). */
export interface TokenIssuers {
  /**
   * Returns undefined if no trusted issuer is the token's. Fails with `unauthorized` if the token is invalid, and with a temporary refusal if the keys
   * of its issuer can't be read now.
   */
  recognise(config: TokenConfig, clock: Clock, token: string): Promise<RecognisedToken | undefined>;
  /** Calls back when tokens that were valid may no longer be. */
  onChange(listener: () => void): void;
  /** Fetches nothing any more. */
  close(): void;
}
