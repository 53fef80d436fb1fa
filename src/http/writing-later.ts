import type { DocumentWrite } from '../database/contract.ts';
import type { Answer, Context } from './context.ts';
import { documentLocation } from './locations.ts';
import { jsonAnswer, withHeader } from './responses.ts';

/** `batch=ok` (interface.md 4.5): 202 at once; whether the write succeeds is never told. */
export async function answerLater(context: Context, database: string, write: DocumentWrite): Promise<Answer> {
  await context.services.registry.use(database, (open) => open.writeLater([write]));
  const answer = jsonAnswer(context, 202, `{"ok":true,"id":${JSON.stringify(write.id)}}`);
  return write.deleted ? answer : withHeader(answer, 'location', documentLocation(context, database, write.id));
}
