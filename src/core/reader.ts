/** What a service needs that reads databases which another process owns (`CoreOptions.reader`). */
import { followRegistry } from '../database/registry/followed-registry.ts';
import { answerAsReader } from '../http/middleware/reader.ts';

export const readerCode = { followRegistry, answerAsReader };
