import { adminText, hashOfAdmin, isHashedAdmin } from '../auth/passwords/password-hash.ts';
import { Passwords } from '../auth/passwords/passwords.ts';
import { administrationHandlers } from '../http/administration/administration-handlers.ts';
import type { DeferredCode } from './contract.ts';

/** The part that answers requests which steer the service. */
export const createAdministrationPart: DeferredCode['administration'] = ({ config, random, logTail, restart }) => {
  const passwords = new Passwords(config, random);
  const hashAdminPassword = async (password: string) => adminText(await passwords.hash(password));
  const isUnreadableHash = (text: string) => isHashedAdmin(text) && hashOfAdmin(text) === undefined;
  return { service: { hashAdminPassword, isUnreadableHash, logTail, restart }, handlers: administrationHandlers };
};
