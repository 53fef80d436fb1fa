/** Who asks, and how that is known (docs/http/accounts.md#authentication). */
import type { MaybePromise } from '../base/shared/maybe-promise.ts';
import type { RequestUser } from '../base/shared/message.ts';

export const SERVER_ADMIN_ROLE = '_admin';

/** What the id of a user's document begins with; the user's name follows. Foreign peers know no other. */
export const USER_PREFIX = 'org.couchdb.user:';

/** Characters of a user's name, at most: nobody logs in by a longer one. */
export const LONGEST_NAME = 1_024;

export const ANONYMOUS: RequestUser = { name: null, roles: [] };

/** Everybody, while there is no admin. */
export const ADMIN_PARTY: RequestUser = { name: null, roles: [SERVER_ADMIN_ROLE] };

/** What the service knows of a name by now, for what somebody of that name has asked for earlier. */
export type Standing =
  | { readonly kind: 'account'; readonly roles: readonly string[] }
  /** The account was deleted, or can't be used. */
  | { readonly kind: 'gone' }
  /** There never was an account here. `mayLogIn`: a proxy or a token may tell the service of such a user. */
  | { readonly kind: 'unknown'; readonly mayLogIn: boolean };

/** How the client came: by https, by http to this machine by a name that browsers take for that, or by http from elsewhere. */
export type Way = 'https' | 'local' | 'http';

/** What of a request tells who sent it. */
export interface AskingRequest {
  readonly method: string;
  /** As the client knows it: absolute where anybody says by which host. */
  readonly url: string;
  /** What follows the `?` of the address, as it was sent; empty where there is none. */
  readonly search: string;
  /** The IP address from which it came to this service. */
  readonly peer: string | undefined;
  /** The IP address of its sender, who may be behind a trusted proxy; empty where there is none. */
  readonly address: string;
  readonly way: Way;
  /** `name` in lower case. */
  header(name: string): string | undefined;
}

/** Somebody who has proved who it is. */
export interface Identity {
  readonly user: RequestUser;
  /** The name of the handler that has recognised the credentials. */
  readonly method: string;
  /** The value of `Set-Cookie` for the answer, where the session is to be renewed. */
  readonly setCookie?: string | undefined;
  /** Milliseconds since the epoch: when a token expires. Nothing else may ever tell that its user's account is gone. */
  readonly until?: number | undefined;
  /** The user as it is by now; undefined where the credentials would be refused now, for another reason than their age. */
  recheck(): MaybePromise<RequestUser | undefined>;
  /** As `recheck`, for what has no end of its own: a session that was ended counts as none that was, a token that has expired as wrong. */
  recheckBeyondSession(): MaybePromise<RequestUser | undefined>;
}

export interface Authenticator {
  /**
   * Undefined where the request has no credentials, or none that a handler of the configuration recognises. Fails with `unauthorized` where
   * they are wrong.
   */
  identify(request: AskingRequest): MaybePromise<Identity | undefined>;
}
