/** What a service needs that shares its databases with other servers, each of which owns some of them (`CoreOptions.member`). */
import { joinSharedRegistry, openSharedRegistry } from '../database/registry/shared-registry.ts';
import { answerAsMember } from '../http/middleware/member.ts';
import { openIndexesOfMember } from './member-indexes.ts';

export const memberCode = {
  joinSharedRegistry,
  openSharedRegistry,
  answerAsMember,
  openIndexes: openIndexesOfMember,
};
