/** Creates and removes indexes by changing the design documents that define them. */

import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { isObject } from '../../base/json/objects.ts';
import { parseInTurns } from '../../base/json/parse-in-steps.ts';
import { must } from '../../base/shared/assert.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { runCooperatively } from '../../base/shared/turn.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import { md5 } from '../../database/documents/md5.ts';
import { toRevId } from '../../database/documents/revisions/revisions.ts';
import type { Database } from '../../database/store/contract.ts';
import { SCRIPT_LANGUAGE } from '../sandbox/contract.ts';
import type { IndexAddress, IndexWriter, JsonObject } from './contract.ts';
import { toDesignId } from './find-query.ts';
import { type IndexMap, indexesOf, indexView, parseIndexMap, QUERY_LANGUAGE } from './index-definition.ts';
import { excerpt, queryError } from './query-error.ts';

interface IndexRequest {
  readonly design: DocId;
  readonly name: string;
  readonly map: IndexMap;
  /** As the client wrote it. */
  readonly definition: unknown;
}

interface StoredDesign {
  readonly rev: RevId;
  readonly document: JsonObject;
}

/** Other requests may write the same design document at the same time; each time one of them succeeds. */
const ATTEMPTS = 100;

const MEMBERS: ReadonlySet<string> = new Set(['index', 'type', 'name', 'ddoc', 'w', 'partitioned']);
const INDEX_MEMBERS: ReadonlySet<string> = new Set(['fields', 'partial_filter_selector']);

/** Reads the body of `POST _index`. Missing names are hashes of what was given, so they are the same each time. */
export async function parseIndexRequest(body: JsonObject): Promise<IndexRequest> {
  checkMembers(body, MEMBERS);
  const { index } = body;
  const type = body['type'] ?? 'json';
  if (index === undefined) throw queryError('missing_required_key', 'Missing required key: index');
  if (type === 'text') {
    throw new DatabaseError('not_implemented', 'Text indexes are not implemented. Leave out "type" for a JSON index.');
  }
  if (type !== 'json') throw queryError('invalid_index', `Invalid type for index: ${excerpt(type)}. There is "json".`);
  if (!isObject(index)) throw queryError('invalid_index', `A JSON index must be an object, not: ${excerpt(index)}`);
  checkMembers(index, INDEX_MEMBERS);
  if (index['fields'] === undefined) throw queryError('missing_required_key', 'Missing required key: fields');
  const map = parseIndexMap(index);
  const columns = map.columns.map(({ field, direction }) => [field, direction]);
  const givenName = parseName(body['name']);
  const hashName = await md5(
    JSON.stringify([columns, map.filterJson, ...(givenName === undefined ? [] : [givenName])]),
  );
  const name = givenName ?? hashName;
  const design = parseDocId(toDesignId(parseName(body['ddoc']) ?? hashName));
  return { design, name, map, definition: index };
}

/** Stores an index. Returns whether it already existed. */
export async function putIndex(database: Database, request: IndexRequest, writer: IndexWriter): Promise<boolean> {
  const view = indexView(request.map, request.definition);
  const isChanged = await changeDesign(database, request.design, writer, (stored) => {
    if (stored !== undefined) checkLanguage(stored, request.design);
    const document = stored ?? {};
    const views = isObject(document['views']) ? document['views'] : {};
    const former = Object.hasOwn(views, request.name) ? views[request.name] : undefined;
    if (isSameIndex(former, view)) return document;
    return { ...document, language: QUERY_LANGUAGE, views: { ...views, [request.name]: view } };
  });
  return !isChanged;
}

/** Removes an index. Fails with `not_found` "missing". */
export async function removeIndex(database: Database, address: IndexAddress, writer: IndexWriter): Promise<void> {
  const id = parseDocId(toDesignId(address.design));
  await changeDesign(database, id, writer, async (document) => {
    const isThere = (await runCooperatively(indexesOf(id, document))).some(({ name }) => name === address.name);
    if (!isThere || address.type !== 'json' || document === undefined) throw missing();
    const { [address.name]: _removed, ...views } = isObject(document['views']) ? document['views'] : {};
    return Object.keys(views).length === 0 ? undefined : { ...document, views };
  });
}

/** Removes the design document with all of its indexes. Fails with `not_found` "missing" if it has none. */
export async function removeDesign(database: Database, name: string, writer: IndexWriter): Promise<DocId> {
  const id = parseDocId(toDesignId(name));
  await changeDesign(database, id, writer, async (document) => {
    if (document === undefined || (await runCooperatively(indexesOf(id, document))).length === 0) throw missing();
    return undefined;
  });
  return id;
}

/**
 * Replaces the members of a design document by those that `change` returns: the same object if nothing changes,
 * undefined if the document is to be deleted. Returns whether it was written.
 */
async function changeDesign(
  database: Database,
  id: DocId,
  { durability, user, right }: IndexWriter,
  change: (document: JsonObject | undefined) => MaybePromise<JsonObject | undefined>,
): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const stored = await readDesign(database, id);
    const next = await change(stored?.document);
    if (next !== undefined && next === stored?.document) return false;
    const write = { id, rev: stored?.rev, deleted: next === undefined, body: JSON.stringify(next ?? {}) };
    const [outcome] = await database.write([write], { newEdits: true, durability, user, right });
    const written = must(outcome);
    if (written.ok) return true;
    if (!isDatabaseError(written.error, 'conflict') || attempt === ATTEMPTS) throw written.error;
  }
}

/** Returns undefined if there is no such document, or it was deleted. */
async function readDesign(database: Database, id: DocId): Promise<StoredDesign | undefined> {
  const snapshot = database.snapshot();
  try {
    const winner = (await snapshot.document(id))?.leaves[0];
    if (winner === undefined || winner.deleted) return undefined;
    const document = await parseInTurns((await snapshot.body(winner)) ?? '{}');
    return { rev: toRevId(winner.generation, winner.hash), document: isObject(document) ? document : {} };
  } finally {
    snapshot.release();
  }
}

function isSameIndex(former: unknown, view: JsonObject): boolean {
  if (!isObject(former)) return false;
  return JSON.stringify(former['map']) === JSON.stringify(view['map']);
}

function checkLanguage(document: JsonObject, id: DocId): void {
  const { language = SCRIPT_LANGUAGE } = document;
  if (language === QUERY_LANGUAGE) return;
  const remedy = `Give the index a design document of its own: ${id} holds no indexes.`;
  throw queryError('invalid_ddoc_lang', `Existing design doc has an invalid language: ${excerpt(language)}. ${remedy}`);
}

function checkMembers(object: JsonObject, members: ReadonlySet<string>): void {
  const unknownName = Object.keys(object).find((name) => !members.has(name));
  if (unknownName === undefined) return;
  throw queryError('invalid_key', `Invalid key ${unknownName} for this request. There are ${[...members].join(', ')}.`);
}

function parseName(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' && value !== '') return value;
  throw queryError('invalid_index_name', `Invalid index name: ${excerpt(value)}. Give a string that is not empty.`);
}

function missing(): DatabaseError {
  return new DatabaseError('not_found', 'missing');
}
