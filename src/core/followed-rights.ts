import type { Access } from '../accounts/access/access.ts';
import { authenticationDatabase } from '../accounts/settings.ts';
import type { RegistryOptions } from '../database/registry/contract.ts';

/** What a registry that follows databases of another process does for rights: they depend on accounts and sessions. `access` is called later. */
export function followedRights({ config }: Pick<RegistryOptions, 'config'>, access: () => Access) {
  return {
    alwaysFresh: () => [authenticationDatabase(config)],
    onSecurity: (name: string) => access().securityChanged(name),
    onNotes: () => access().sessionsChanged(),
  };
}
