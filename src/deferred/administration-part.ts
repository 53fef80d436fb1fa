import { adminText, hashOfAdmin, isHashedAdmin } from '../auth/passwords/password-hash.ts';
import { Passwords } from '../auth/passwords/passwords.ts';
import { iterationLimits } from '../auth/settings.ts';
import { isAdminUnder, knowsOtherCredentials } from '../http/accounts/authority.ts';
import { administrationHandlers } from '../http/administration/administration-handlers.ts';
import type { Config } from '../system/contract.ts';
import type { DeferredCode } from './contract.ts';

/** The part that answers requests which steer the service. */
export const createAdministrationPart: DeferredCode['administration'] = ({ clock, config, random, ...needs }) => {
  const passwords = new Passwords(config, random);
  const service = {
    hashAdminPassword: async (password: string) => adminText(await passwords.hash(password)),
    isUnreadableHash: (text: string) => isHashedAdmin(text) && hashOfAdmin(text) === undefined,
    whyUnusable,
    knowsOthers: knowsOtherCredentials,
    isAdminUnder: (next: Config, context: Parameters<typeof isAdminUnder>[2]) => isAdminUnder(next, clock, context),
    logTail: needs.logTail,
    restart: needs.restart,
  };
  return { service, handlers: administrationHandlers };
};

function whyUnusable(config: Config, text: string): string | undefined {
  if (text === '') return 'the password is empty';
  const hash = hashOfAdmin(text);
  if (hash === undefined) return isHashedAdmin(text) ? 'the text begins as a hash does, and is none' : undefined;
  if (hash.scheme === 'simple') return undefined;
  const { least, most } = iterationLimits(config);
  if (hash.iterations >= least && hash.iterations <= most) return undefined;
  return `the password was hashed with ${hash.iterations} iterations, and svc_httpd_auth permits ${least} (min_iterations) to ${most} (max_iterations)`;
}
