/** Puts accounts together. */
import type { Account } from '../auth/accounts/account.ts';
import { AccountStore } from '../auth/accounts/account-store.ts';
import { AdminHashing } from '../auth/accounts/admin-hashing.ts';
import { HashUpgrade } from '../auth/accounts/hash-upgrade.ts';
import { isRefused, LoginFailures } from '../auth/accounts/login-failures.ts';
import { Logins } from '../auth/accounts/logins.ts';
import { DocumentsWithOAuth } from '../auth/accounts/oauth-users.ts';
import { StoredIterations } from '../auth/accounts/stored-iterations.ts';
import { Passwords } from '../auth/passwords/passwords.ts';
import { Authentication } from '../auth/schemes/authentication.ts';
import { EndedSessions } from '../auth/schemes/ended-sessions.ts';
import { OAuth } from '../auth/schemes/oauth.ts';
import { SessionCookies } from '../auth/schemes/session-cookie.ts';
import { SessionSecret } from '../auth/schemes/session-secret.ts';
import { authenticationDatabase, publicFields, sessionSeconds } from '../auth/settings.ts';
import { replicationShield } from '../auth/shields/replication-shield.ts';
import { userShield } from '../auth/shields/user-shield.ts';
import { UserGuard } from '../auth/users-database/user-guard.ts';
import { type AccountsPart, accountsHandlers } from '../http/accounts/accounts-part.ts';
import { challenge } from '../http/accounts/challenge.ts';
import { getProtectedDocument } from '../http/accounts/protected-documents.ts';
import { orElse } from '../shared/maybe-promise.ts';
import { REPLICATOR_DATABASE } from '../system/system-databases.ts';
import type { AccountNeeds } from './contract.ts';

export function createAccounts(needs: AccountNeeds): AccountsPart {
  const { config, clock, random, log, databases, counters, accountsVersion, onSessionEnd } = needs;
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
  const failures = new LoginFailures(log);
  return {
    service: {
      logIn: (name, password, address) =>
        orElse(
          () => logins.logIn(name, password, address),
          (error) => {
            if (isRefused(error)) failures.note({ way: 'a session', name, address });
            throw error;
          },
        ),
      beginSession: (account, way) => cookies.begin(account, way),
      endSession: (value) => cookies.end(value),
    },
    handlers: accountsHandlers,
    authenticator: new Authentication({ config, clock, accounts, logins, cookies, oauth, failures }),
    userWrites: new UserGuard(passwords, clock),
    shieldOf: (database, user) => {
      if (database === authenticationDatabase(config)) return userShield(user, publicFields(config));
      return database === REPLICATOR_DATABASE ? replicationShield(user) : undefined;
    },
    standingOf: (name) => accounts.standingOf(name),
    challenge,
    getProtectedDocument,
    settled: () => admins.settled,
    close: () => failures.close(),
  };
}
