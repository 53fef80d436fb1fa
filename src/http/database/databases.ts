/**
 * Databases as a whole (docs/http/databases.md): creation, deletion, information, compaction and full commits, and the lists of all
 * databases (docs/http/server.md#list-of-databases).
 */

import { authorizeUser } from '../../accounts/access/access.ts';
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { ownMember } from '../../base/json/objects.ts';
import { mapInSteps, runCooperatively } from '../../base/shared/turn.ts';
import type { DatabaseInfo } from '../../database/store/contract.ts';
import { continueInBackground } from '../request/background-work.ts';
import { readObject, requireJsonType } from '../request/bodies.ts';
import { NAMES } from '../request/body-bounds.ts';
import type { Answer, Context } from '../request/context.ts';
import { isEmptyRange, type ListParameters, readListQuery, toRowRange } from '../request/list-parameters.ts';
import { parseCount } from '../request/parameter-values.ts';
import { databaseLocation, withLocation } from '../response/locations.ts';
import { jsonAnswer, okAnswer, textAnswer } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';

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
    const why = otherwise ?? 'This service has no such option';
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

/** The information object with the names of the HTTP interface. */
export function shownInfo(info: DatabaseInfo): Readonly<Record<string, unknown>> {
  const { diskSize, dataSize, contentSize, oldSize, deletedSize } = info;
  const [live, old, deleted] = [dataSize - deletedSize, oldSize, deletedSize];
  return {
    db_name: info.name,
    doc_count: info.docCount,
    doc_del_count: info.docDelCount,
    update_seq: info.updateSeq,
    purge_seq: info.purgeSeq,
    compact_running: info.compactRunning,
    disk_size: diskSize,
    data_size: dataSize,
    sizes: { file: diskSize, external: contentSize, active: dataSize, live, old, deleted },
    instance_start_time: info.instanceStartTime,
    disk_format_version: info.diskFormatVersion,
    committed_update_seq: info.committedUpdateSeq,
  };
}

export async function getAllDatabases(context: Context): Promise<Answer> {
  const names = namesOf(context.services.registry.names(), await readListQuery(context));
  return jsonAnswer(context, 200, JSON.stringify(names));
}

/** Returns the names in the requested range. `names` ascend; they are ASCII, so JavaScript's order is that of their bytes. */
function namesOf(names: readonly string[], parameters: ListParameters): readonly string[] {
  const range = toRowRange(parameters);
  if (isEmptyRange(range)) return [];
  const { start, end, startInclusive, endInclusive } = range;
  const found = names.filter((name) => {
    const isBehindStart = start === undefined || name > start || (startInclusive !== false && name === start);
    return isBehindStart && (end === undefined || name < end || (endInclusive !== false && name === end));
  });
  const { descending, skip, limit } = parameters;
  return (descending ? found.toReversed() : found).slice(skip, limit === undefined ? undefined : skip + limit);
}

/** Returns information on all databases, or on those in the range of names of the query. */
export async function getDatabaseInfos(context: Context): Promise<Answer> {
  const parameters = await readListQuery(context);
  return answerInfos(context, parameters.keys ?? namesOf(context.services.registry.names(), parameters));
}

/** Returns information on those that the body names: `{keys: [name…]}`. */
export async function postDatabaseInfos(context: Context): Promise<Answer> {
  const keys = ownMember(await readObject(context, NAMES), 'keys');
  if (!Array.isArray(keys)) throw new DatabaseError('bad_request', '`keys` member must exist.');
  return answerInfos(context, keys);
}

async function answerInfos(context: Context, keys: readonly unknown[]): Promise<Answer> {
  const names = await runCooperatively(mapInSteps(keys, toName));
  return textAnswer(context, 200, await streamedBody(context, infosText(context, names), () => undefined));
}

/** Yields the text while it is sent: the body may repeat a name very often. */
async function* infosText(context: Context, names: readonly string[]): AsyncGenerator<string, void, void> {
  let separator = '[';
  for (const name of names) {
    yield separator + JSON.stringify(await infoOf(context, name));
    separator = ',';
  }
  yield separator === '[' ? '[]\n' : ']\n';
}

function toName(key: unknown): string {
  if (typeof key === 'string') return key;
  throw new DatabaseError('bad_request', '`keys` must be a JSON list of database names.');
}

async function infoOf(context: Context, key: string): Promise<unknown> {
  try {
    await authorizeUser(context.services.access, context.user, { right: 'member', database: key });
    return { key, info: await presentInfo(context, key) };
  } catch (error) {
    for (const word of ['not_found', 'unauthorized'] as const)
      if (isDatabaseError(error, word)) return { key, error: word };
    throw error;
  }
}

/** Sizes and compactions are what the owner knows. */
async function presentInfo(context: Context, database: string): Promise<unknown> {
  const told = await context.services.sharing?.info(context, database);
  return told ?? shownInfo(await context.useDatabase(database, (open) => open.info()));
}

/** Answers at once; the compaction continues, and joins one that is already running. */
export async function postCompact(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const lease = await context.services.registry.acquire(database);
  if (lease.database.compactRunning) {
    lease.release();
    return okAnswer(context, 202);
  }
  continueInBackground(context, `Compaction of ${database}`, lease.database.compact(), { end: lease.release });
  return okAnswer(context, 202);
}

/**
 * Resolves when everything written so far survives a power cut. `?seq=n` is checked but saves no work: a commit that assigned a sequence
 * number need not be durable yet.
 */
export async function postEnsureFullCommit(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  const text = context.query.get('seq');
  const seq = text === undefined ? undefined : parseCount(text);
  const instanceStartTime = await context.useDatabase(database, async (open) => {
    if (seq !== undefined && seq > open.updateSeq) throw aheadOfUpdates();
    return open.flush();
  });
  return jsonAnswer(context, 201, JSON.stringify({ ok: true, instance_start_time: instanceStartTime }));
}

function aheadOfUpdates(): DatabaseError {
  return new DatabaseError('bad_request', "can't do a full commit ahead of current update_seq");
}
