/**
 * `POST /{db}/_bulk_docs` (docs/http/bulk.md#bulk-writes). One malformed document makes the whole request fail, and nothing is
 * written; but a malformed `_rev` refuses only its own row.
 */

import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import {
  type CooperativeTask,
  eachInSteps,
  filterInSteps,
  joinInSteps,
  LONG_STEP,
  mapInSteps,
  roomInTurn,
  runCooperatively,
  TimeSlice,
} from '../../base/shared/turn.ts';
import type { BadRev, IncomingDocument } from '../../database/documents/contract.ts';
import { isLocalId, parseDocId } from '../../database/documents/identifiers.ts';
import {
  type IncomingBulk,
  parseBulkInSteps,
  type ReadCount,
  readBulkInSteps,
  scanBulkInSteps,
} from '../../database/documents/incoming/read-bulk.ts';
import type { Database, DocumentWrite, WriteOptions } from '../../database/store/contract.ts';
import { parseBody, readText, requireJsonType } from '../request/bodies.ts';
import { DOCUMENTS } from '../request/body-bounds.ts';
import { holdMade } from '../request/body-memory.ts';
import type { Answer, Context } from '../request/context.ts';
import { showError } from '../response/error-table.ts';
import { jsonAnswer } from '../response/responses.ts';
import { hasIncoming, type IncomingWrite, writeAttached } from './attached-writes.ts';
import {
  checkLocal,
  farRev,
  foreignRev,
  replicatedWrite,
  writeLocal,
  writeOptions,
  writtenText,
} from './write-document.ts';

/** A row of the response: what was written, or what was refused and why. */
type Row = { readonly ok: true; readonly id: string; readonly rev: string } | RefusedRow;

interface RefusedRow {
  readonly ok: false;
  readonly id: string;
  readonly rev: string | undefined;
  readonly error: DatabaseError;
}

export async function postBulkDocs(context: Context, database: string): Promise<Answer> {
  requireJsonType(context);
  context.services.statistics.counters.bulkRequests.value += 1;
  const { read, newEdits, allOrNothing } = await readWrites(context);
  const options = { ...writeOptions(context, newEdits), allOrNothing };
  const rows = await context.useDatabase(database, (open) => writeReadable(context, open, read, options));
  const refused = allOrNothing || !newEdits ? await refusedOf(rows) : [];
  if (allOrNothing && refused.length > 0) {
    // The other documents were not written because of these.
    const causes = await runCooperatively(filterInSteps(refused, ({ error }) => error.code !== 'cancelled'));
    return jsonAnswer(context, 417, await listText(causes, refusedText));
  }
  if (!newEdits) return jsonAnswer(context, 201, await listText(refused, refusedText));
  return jsonAnswer(context, 201, await listText(rows, rowText));
}

/** A separate function, so that the documents are freed before they are written. */
async function readWrites(context: Context) {
  const { documents, newEdits, allOrNothing } = await readBulkBody(context);
  const read = await runCooperatively(mapInSteps(documents, (document) => toWrite(context, document, newEdits)));
  return { read, newEdits, allOrNothing };
}

/** Returns the write that a document asks for, or its row if its revision can't be read. */
function toWrite(context: Context, document: IncomingDocument, newEdits: boolean): IncomingWrite | RefusedRow {
  const id = document.id ?? parseDocId(context.services.uuids.next());
  const bad = document.badRev ?? foreignRev(id, document);
  if (bad !== undefined) return refusedRev(id, bad);
  const far = newEdits ? undefined : farRev(document.rev);
  if (far !== undefined) return { ok: false, id, rev: far.text, error: far.error };
  if (!newEdits) return replicatedWrite(id, document);
  const { rev, deleted, body, attachments: incoming } = document;
  return { id, rev, deleted, body, incoming };
}

/** How many characters of a malformed `_rev` a row repeats. No revision is longer. */
const MAX_REPEATED_LENGTH = 200;

function refusedRev(id: string, { text }: BadRev): RefusedRow {
  const rev = text.length > MAX_REPEATED_LENGTH ? `${text.slice(0, MAX_REPEATED_LENGTH)}…` : text;
  const where = `the _rev of document ${JSON.stringify(id)} is ${JSON.stringify(rev)}`;
  const reason = `Invalid rev format: ${where}. Send the revision as the database returned it.`;
  // Created only when it is shown: an error takes a kilobyte, and a request may have a hundred thousand such documents.
  return {
    ok: false,
    id,
    rev,
    get error() {
      return new DatabaseError('bad_request', reason);
    },
  };
}

/** Writes the documents that could be read. In all-or-nothing mode, one that could not be read prevents all writes. */
async function writeReadable(
  context: Context,
  database: Database,
  read: readonly (IncomingWrite | RefusedRow)[],
  options: WriteOptions,
): Promise<readonly Row[]> {
  const writes: IncomingWrite[] = [];
  const unreadable: RefusedRow[] = [];
  await runCooperatively(
    eachInSteps(read, (one) => {
      if (isRow(one)) unreadable.push(one);
      else writes.push(one);
    }),
  );
  if (unreadable.length === 0) return writeAll(context, database, writes, options);
  if (options.allOrNothing === true) return unreadable;
  const rows = writes.length === 0 ? [] : await writeAll(context, database, writes, options);
  let next = 0;
  return runCooperatively(mapInSteps(read, (one): Row => (isRow(one) ? one : must(rows[next++]))));
}

function isRow(one: IncomingWrite | RefusedRow): one is RefusedRow {
  return 'ok' in one;
}

/**
 * Local documents aren't part of the transaction: each is written separately, in either mode (docs/http/documents.md#local-documents). In
 * all-or-nothing mode they are written after the others, and replace what is there, so that nothing can refuse them then.
 */
async function writeAll(
  context: Context,
  database: Database,
  writes: readonly IncomingWrite[],
  options: WriteOptions,
): Promise<readonly Row[]> {
  const locals = await runCooperatively(filterInSteps(writes, ({ id }) => isLocalId(id)));
  if (locals.length === 0 || locals.some(hasIncoming)) return writeAttached(context, database, writes, options);
  await runCooperatively(eachInSteps(locals, (write) => checkLocal(context, write)));
  const ordinary = await runCooperatively(filterInSteps(writes, ({ id }) => !isLocalId(id)));
  const outcomes = ordinary.length === 0 ? [] : await writeAttached(context, database, ordinary, options);
  if (options.allOrNothing === true && (await refusedOf(outcomes)).length > 0) return outcomes;
  const rows: Row[] = [];
  let next = 0;
  for (const write of writes) {
    rows.push(isLocalId(write.id) ? await writeLocalRow(context, database, write, options) : must(outcomes[next++]));
  }
  return rows;
}

async function writeLocalRow(
  context: Context,
  database: Database,
  write: DocumentWrite,
  options: WriteOptions,
): Promise<Row> {
  const { id, rev } = write;
  try {
    return { ok: true, id, rev: await writeLocal(context, database, write, options) };
  } catch (error) {
    if (!isDatabaseError(error, 'conflict')) throw error;
    return { ok: false, id, rev, error };
  }
}

async function refusedOf(rows: readonly Row[]): Promise<readonly RefusedRow[]> {
  const refused: RefusedRow[] = [];
  const note = (row: Row) => {
    if (!row.ok) refused.push(row);
  };
  await runCooperatively(eachInSteps(rows, note));
  return refused;
}

/** Rows whose text is made at once, even if many requests get theirs in the same turn: one commit may end hundreds. */
const FREE_ROWS = 16;

async function listText<T>(rows: readonly T[], textOf: (row: T) => string): Promise<string> {
  const room = rows.length > FREE_ROWS ? roomInTurn() : undefined;
  if (room !== undefined) await room;
  return `[${await runCooperatively(joinInSteps(rows, textOf))}]`;
}

function rowText(row: Row): string {
  return row.ok ? writtenText(row.id, row.rev) : refusedText(row);
}

/** `rev` is what the document named, empty if it named none. */
function refusedText({ id, rev = '', error: failure }: RefusedRow): string {
  const { status: _, ...shown } = showError(failure);
  return JSON.stringify({ id, rev, ...shown });
}

/** Documents of a bulk request that are not counted. Shorter requests have no more. A thousand requests may come at once. */
const FREE_DOCUMENTS = 64;
const FREE_LENGTH = 3 * FREE_DOCUMENTS;
/** Memory is held for at least this many at once. */
const HELD_AT_ONCE = 1_024;
/** From this share of the budget on, memory for all documents is held at once: bit by bit, the oldest of several such requests would far exceed it */
const LARGE_SHARE = 1 / 8;
/** Bytes that a document takes from its reading until it is written, in addition to its text: measured with the smallest ones. */
const MEMORY_OF_EACH = 2_048;

/** Reads the documents of a `_bulk_docs` request. */
export function readBulkBody(context: Context): MaybePromise<IncomingBulk> {
  return whenReady(readText(context), (text) =>
    text.length <= FREE_LENGTH ? runCooperatively(readBulkInSteps(text)) : readLongBulk(context, text),
  );
}

async function readLongBulk(context: Context, text: string): Promise<IncomingBulk> {
  const read = (steps: (count: ReadCount) => CooperativeTask<IncomingBulk | undefined>) =>
    countedInTurns(context, text, steps);
  const scanned = await read((count) => scanBulkInSteps(text, count));
  if (scanned !== undefined) return scanned;
  const value = await parseBody(context, text, DOCUMENTS);
  return must(await read((count) => parseBulkInSteps(text, value, count)));
}

/** Like `runCooperatively`. Holds memory for the documents while they are counted, and gives back what proves to be too much. */
async function countedInTurns(
  context: Context,
  text: string,
  read: (count: ReadCount) => CooperativeTask<IncomingBulk | undefined>,
): Promise<IncomingBulk | undefined> {
  const timeSlice = new TimeSlice();
  const count = { documents: 0, characters: 0 };
  const held = new HeldDocuments(context, text.length);
  const steps = read(count);
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) {
      held.settle(value?.documents.length ?? 0);
      return value;
    }
    if (held.isShortOf(count)) await held.growTo(count);
    if (value === LONG_STEP || timeSlice.isDue) await timeSlice.endTurn();
  }
}

/** Memory for the documents of a request. Estimates how many will come from the length of those since it last grew. */
class HeldDocuments {
  readonly #context: Context;
  readonly #length: number;
  #held = FREE_DOCUMENTS;
  #seen: ReadCount = { documents: 0, characters: 0 };

  constructor(context: Context, length: number) {
    this.#context = context;
    this.#length = length;
  }

  isShortOf({ documents }: ReadCount): boolean {
    return documents > this.#held;
  }

  growTo({ documents, characters }: ReadCount): MaybePromise<void> {
    const seen = this.#seen;
    this.#seen = { documents, characters };
    const lengthOfEach = (characters - seen.characters) / (documents - seen.documents);
    const expected = Math.ceil((this.#length - characters) / lengthOfEach);
    const { limit } = this.#context.services.bytesInFlight;
    const before = this.#bytesOf(this.#held);
    const most = Math.floor((limit - before) / MEMORY_OF_EACH);
    const isLarge = this.#bytesOf(documents + expected) > limit * LARGE_SHARE;
    const more = isLarge ? Math.max(HELD_AT_ONCE, Math.min(documents - this.#held + expected, most)) : HELD_AT_ONCE;
    this.#held += more;
    return holdMade(this.#context, more * MEMORY_OF_EACH, 'documents', before);
  }

  /** Gives back what is held for more documents than this. */
  settle(documents: number): void {
    this.#context.memory.giveBack(this.#bytesOf(this.#held) - this.#bytesOf(documents));
  }

  #bytesOf(documents: number): number {
    return Math.max(0, documents - FREE_DOCUMENTS) * MEMORY_OF_EACH;
  }
}
