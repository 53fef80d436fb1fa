import type { Account } from '../../../accounts/accounts/account-store.ts';
import type { Way } from '../../../accounts/contract.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';

/** What the handlers of sessions work with. */
export interface AccountsService {
  /** See `Logins`. */
  logIn(name: string, password: string, address: string): MaybePromise<Account>;
  /** Returns the value of `Set-Cookie` that begins a session. */
  beginSession(account: Account, way: Way): Promise<string>;
  /** See `SessionCookies.end`. */
  endSession(value: string): Promise<void>;
}
