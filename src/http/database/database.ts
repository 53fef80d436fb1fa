/** The database as a whole (docs/http/databases.md). */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Answer, Context } from '../request/context.ts';
import { databaseLocation, withLocation } from '../response/locations.ts';
import { jsonAnswer, okAnswer } from '../response/responses.ts';
import { shownInfo } from './database-info.ts';

export async function getDatabase(context: Context, database: string): Promise<Answer> {
  const info = await context.useDatabase(database, (open) => open.info());
  return jsonAnswer(context, 200, JSON.stringify(shownInfo(info)));
}

/** Cluster options that clients of the family send, which make no difference here. */
const HARMLESS: ReadonlySet<string> = new Set(['q', 'n', 'placement']);
/** Kinds of databases that exist elsewhere. A client would notice too late that it got a database of another kind. */
const OTHER_KINDS: ReadonlyMap<string, string> = new Map([
  ['partitioned', 'Databases are not divided into partitions'],
  ['access', 'Documents have no access lists of their own'],
]);

/** Fails with `bad_request` for an option that this service doesn't have. */
function checkCreationOptions({ query }: Context): void {
  if (query.isEmpty) return;
  for (const [name, value] of query.entries()) {
    if (name === 'if-missing' || HARMLESS.has(name)) continue;
    const otherwise = OTHER_KINDS.get(name);
    if (otherwise !== undefined && value === 'false') continue;
    const why = otherwise ?? 'It is no option of this service';
    const reason = `A database can't be created with "${name}=${value}". ${why}. Create it without that option.`;
    throw new DatabaseError('bad_request', reason);
  }
}

export async function putDatabase(context: Context, database: string): Promise<Answer> {
  checkCreationOptions(context);
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
