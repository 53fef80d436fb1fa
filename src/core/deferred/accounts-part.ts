/** Assembles the accounts. */

import { replicationRestriction, userRestriction } from '../../accounts/access/read-restriction.ts';
import { type Account, AccountStore } from '../../accounts/accounts/account-store.ts';
import { isRefused, LoginFailureLog } from '../../accounts/accounts/login-failure-log.ts';
import { Logins } from '../../accounts/accounts/logins.ts';
import { DocumentsWithOAuth } from '../../accounts/accounts/oauth-users.ts';
import { AdminHashing, HashUpgrade } from '../../accounts/accounts/password-hashing.ts';
import { StoredIterations } from '../../accounts/accounts/stored-iterations.ts';
import { UserGuard } from '../../accounts/accounts/user-guard.ts';
import { Passwords } from '../../accounts/passwords/passwords.ts';
import { Authentication } from '../../accounts/schemes/authentication.ts';
import { EndedSessions } from '../../accounts/schemes/ended-sessions.ts';
import { OAuth } from '../../accounts/schemes/oauth.ts';
import { SessionCookies, SessionSecret } from '../../accounts/schemes/session-cookie.ts';
import { authenticationDatabase, publicFields, sessionSeconds } from '../../accounts/settings.ts';
import { orElse } from '../../base/shared/maybe-promise.ts';
import { REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import { type AccountsPart, accountsHandlers } from '../../http/server/accounts/accounts-part.ts';
import { challenge } from '../../http/server/accounts/challenge.ts';
import { getProtectedDocument } from '../../http/server/accounts/protected-documents.ts';
import type { AccountOptions } from './contract.ts';

export function createAccounts(options: AccountOptions): AccountsPart {
  const { config, clock, random, log, databases, counters, accountsVersion, onSessionEnd, tokenIssuers } = options;
  const passwords = new Passwords(config, random);
  const accounts = new AccountStore(config, databases, accountsVersion);
  const admins = new AdminHashing(config, passwords, log);
  const hashes = new HashUpgrade({ config, databases, accounts, passwords, admins, log });
  const upgrade = (account: Account, password: string) => hashes.upgrade(account, password);
  const iterations = new StoredIterations({ config, databases, passwords, log });
  const logins = new Logins({ config, clock, random, accounts, passwords, admins, iterations, counters, upgrade });
  const secret = new SessionSecret(config, random);
  const ended = new EndedSessions({ notes: databases, clock, lastsSeconds: () => sessionSeconds(config) });
  const cookies = new SessionCookies({ config, clock, random, accounts, secret, ended, onEnd: onSessionEnd });
  const oauth = new OAuth(config, clock, accounts, new DocumentsWithOAuth(config, databases));
  const failures = new LoginFailureLog(log);
  return {
    service: {
      logIn: ({ name, password, code }, address) =>
        orElse(
          () => logins.logIn(name, password, address, code),
          (error) => {
            if (isRefused(error)) failures.note({ way: 'a session', name, address });
            throw error;
          },
        ),
      beginSession: (account, way) => cookies.begin(account, way),
      endSession: (value) => cookies.end(value),
    },
    handlers: accountsHandlers,
    authenticator: new Authentication({ config, clock, accounts, logins, cookies, oauth, failures, tokenIssuers }),
    userWrites: new UserGuard(passwords, clock),
    shieldOf: (database, user) => {
      if (database === authenticationDatabase(config)) return userRestriction(user, publicFields(config));
      return database === REPLICATOR_DATABASE ? replicationRestriction(user) : undefined;
    },
    standingOf: (name) => accounts.standingOf(name),
    challenge,
    getProtectedDocument,
    settled: () => admins.settled,
    close: () => {
      tokenIssuers?.close();
      failures.close();
    },
  };
}
