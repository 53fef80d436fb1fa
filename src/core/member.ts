/** What a service needs that shares its databases with other servers, each of which owns some of them (`CoreOptions.member`). */
import type { Access } from '../accounts/access/access.ts';
import type { Placement, Registry, RegistryOptions } from '../database/registry/contract.ts';
import { joinSharedRegistry, openSharedRegistry } from '../database/registry/shared-registry.ts';
import { answerAsMember } from '../http/middleware/member.ts';
import { askServers } from '../http/request/ask-servers.ts';
import { followedRights } from './followed-rights.ts';
import { openIndexesOfMember } from './member-indexes.ts';

interface Membership {
  readonly placement: Placement;
  readonly follows?:
    | { readonly keepNote: Registry['keepNote']; readonly onUpdate?: ((name: string) => void) | undefined }
    | undefined;
}

async function openDatabases(
  { placement, follows }: Membership,
  options: RegistryOptions,
  access: () => Access,
): Promise<Registry> {
  const rights = followedRights(options, access);
  if (follows === undefined) return openSharedRegistry({ ...options, ...rights, placement });
  const registry = await joinSharedRegistry({ ...options, ...rights, placement, keepNote: follows.keepNote });
  registry.onEvent(({ type, name }) => {
    if (type === 'updated' && placement.owns(name)) follows.onUpdate?.(name);
  });
  return registry;
}

export const memberCode = {
  openDatabases,
  answerAsMember,
  askServers,
  openIndexes: openIndexesOfMember,
};
