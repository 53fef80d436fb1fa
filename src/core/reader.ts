/** What a service needs that reads databases which another process owns (`CoreOptions.reader`). */
import type { Access } from '../accounts/access/access.ts';
import type { Registry, RegistryOptions } from '../database/registry/contract.ts';
import { followRegistry } from '../database/registry/followed-registry.ts';
import { isAnsweredElsewhere } from '../http/middleware/elsewhere.ts';
import { answerAsReader } from '../http/middleware/reader.ts';
import { followViewIndexes } from '../queries/views/following/followed-view-indexes.ts';
import { followedRights } from './followed-rights.ts';

function openDatabases(options: RegistryOptions, access: () => Access): Promise<Registry> {
  return followRegistry({ ...options, ...followedRights(options, access) });
}

export const readerCode = {
  openDatabases,
  answerAsReader,
  openIndexes: followViewIndexes,
  isLeftToOwner: isAnsweredElsewhere,
};
