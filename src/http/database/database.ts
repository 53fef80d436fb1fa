/** The database as a whole (docs/http.md#databases). */
import { DatabaseError } from '../../errors/database-error.ts';
import type { Answer, Context } from '../request/context.ts';
import { databaseLocation, withLocation } from '../response/locations.ts';
import { jsonAnswer, okAnswer } from '../response/responses.ts';
import { shownInfo } from './database-info.ts';

export async function getDatabase(context: Context, database: string): Promise<Answer> {
  const info = await context.services.registry.use(database, (open) => open.info());
  return jsonAnswer(context, 200, JSON.stringify(shownInfo(info)));
}

export async function putDatabase(context: Context, database: string): Promise<Answer> {
  const { registry } = context.services;
  if (!context.query.flag('if-missing')) await registry.create(database);
  else if (!(await registry.createIfMissing(database))) {
    const found = jsonAnswer(context, 200, '{"ok":true,"existed":true}');
    return withLocation(found, databaseLocation(context, database));
  }
  return withLocation(okAnswer(context, 201), databaseLocation(context, database));
}

export async function deleteDatabase(context: Context, database: string): Promise<Answer> {
  if (context.query.get('rev') !== undefined) {
    const reason = 'You tried to DELETE a database with a ?rev= parameter. Did you mean to DELETE a document instead?';
    throw new DatabaseError('bad_request', reason);
  }
  await context.services.registry.delete(database);
  return okAnswer(context, 200);
}
