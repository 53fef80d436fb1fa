import { AddressCounts, tooMany } from '../../accounts/passwords/address-counts.ts';
import { adminText, hashOfAdmin, isHashedAdmin } from '../../accounts/passwords/password-hash.ts';
import { Passwords } from '../../accounts/passwords/passwords.ts';
import { iterationLimits } from '../../accounts/settings.ts';
import type { Config, ConfigStore } from '../../base/system/contract.ts';
import { networkOf } from '../../base/system/network-of.ts';
import { knowsOtherCredentials, whyNoAdmin } from '../../http/server/accounts/authority.ts';
import { administrationHandlers } from '../../http/server/administration/administration-handlers.ts';
import type { DeferredCode } from './contract.ts';

/** For one address, without waiting. */
const FREE_ENTRIES = 50;

/** The part that handles requests which control the service. */
export const createAdministrationPart: DeferredCode['administration'] = ({ clock, config, random, ...needs }) => {
  const entries = new AddressCounts(clock, FREE_ENTRIES);
  const passwords = new Passwords(config, random);
  const service = {
    hashAdminPassword: async (password: string) => adminText(await passwords.hash(password)),
    isUnreadableHash: (text: string) => isHashedAdmin(text) && hashOfAdmin(text) === undefined,
    whyUnusable,
    knowsOthers: knowsOtherCredentials,
    whyNoAdmin: (next: ConfigStore, context: Parameters<typeof whyNoAdmin>[2], methods: readonly string[]) =>
      whyNoAdmin(next, clock, context, methods),
    logTail: needs.logTail,
    admitEntry: (address: string) => {
      const network = networkOf(address);
      const waitMs = entries.wait(network);
      if (waitMs > 0) throw tooMany('Too many entries for the log were sent from this address.', waitMs);
      entries.add(network);
    },
    pages: needs.pages,
    readsOnly: () => config.get('utils', 'read_only') === 'true',
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
