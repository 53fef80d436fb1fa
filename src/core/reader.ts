/** What a service needs that reads databases which another process owns (`CoreOptions.reader`). */
import { followRegistry } from '../database/registry/followed-registry.ts';
import { isAnsweredElsewhere } from '../http/middleware/elsewhere.ts';
import { answerAsReader } from '../http/middleware/reader.ts';
import { followViewIndexes } from '../queries/views/following/followed-view-indexes.ts';

export const readerCode = {
  followRegistry,
  answerAsReader,
  openIndexes: followViewIndexes,
  isLeftToOwner: isAnsweredElsewhere,
};
