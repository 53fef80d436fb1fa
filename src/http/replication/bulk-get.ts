/** `POST /{db}/_bulk_get`: many revisions in one request (docs/http.md#bulk-reads). Order and duplicates are kept. */

import type { Snapshot } from '../../database/contract.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import { parseDocId } from '../../documents/identifiers.ts';
import { parseRevId } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { isObject, ownMember } from '../../json/objects.ts';
import { inTurns, mapInSteps } from '../../shared/turn.ts';
import { readMetaFlags, revOf } from '../documents/document-rendering.ts';
import {
  type AttachmentFlags,
  okPieces,
  type RenderedDocument,
  readAttachmentFlags,
} from '../documents/inline-attachments.ts';
import { type MixedPart, mixedAnswer } from '../documents/mixed-answer.ts';
import { readTexts, renderSelected, selectRevisions } from '../documents/revision-selection.ts';
import { accepts } from '../request/accept.ts';
import { readObject } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { type SnapshotLease, withSnapshotLease } from '../request/snapshot-lease.ts';
import { showError } from '../response/error-table.ts';
import { textAnswer, withHeader } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';

/** How many entries are read at once. */
const BATCH = 100;
const UNKNOWN = 'undefined';
const JSON_TYPE = 'application/json';
const ERROR_TYPE = `${JSON_TYPE}; error="true"`;

/** What one entry asks for, or why it can't be answered. */
type Asked =
  | {
      readonly id: DocId;
      readonly rev: RevId | undefined;
      /** Revisions that the reader has: attachments that they have stay stubs. */
      readonly since: readonly RevId[];
      readonly refused?: undefined;
    }
  | { readonly id: string; readonly rev: string | undefined; readonly refused: DatabaseError };

/** One revision's text, or the text of an error object. */
interface Result {
  readonly ok: boolean;
  readonly text: string;
}

interface EntryResults {
  readonly id: string;
  readonly results: readonly Result[];
}

export async function postBulkGet(context: Context, database: string): Promise<Answer> {
  const docs = ownMember(await readObject(context), 'docs');
  if (!Array.isArray(docs)) throw new DatabaseError('bad_request', "Missing JSON list of 'docs'.");
  const asked = await inTurns(mapInSteps(docs, readEntry));
  const accept = context.header('accept');
  const multipart = !accepts(accept, 'application/json') && accepts(accept, 'multipart/mixed');
  return withSnapshotLease(context, database, async (lease) => {
    if (multipart) return mixedAnswer(context, lease, mixedParts(context, lease, asked));
    const flags = readAttachmentFlags(context.query);
    const pieces =
      flags === undefined ? listText(entryBatches(context, lease, asked)) : listPieces(context, lease, asked, flags);
    const list = textAnswer(context, 200, await streamedBody(context, pieces, lease.release));
    // Replicators ask for JSON and multipart in one, and read the type of the answer.
    return withHeader(list, 'content-type', JSON_TYPE);
  });
}

/** A bad entry is refused by itself; the others are answered. */
function readEntry(entry: unknown): Asked {
  const members = isObject(entry) ? entry : {};
  const id = ownMember(members, 'id');
  const rev = ownMember(members, 'rev');
  try {
    const since = ownMember(members, 'atts_since') ?? [];
    if (!Array.isArray(since)) throw new DatabaseError('bad_request', 'atts_since must be a list of revisions.');
    return {
      id: parseDocId(id),
      rev: rev === undefined ? undefined : parseRevId(rev),
      since: since.map(parseRevId),
    };
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return { id: textOf(id), rev: rev === undefined ? undefined : textOf(rev), refused: error };
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : UNKNOWN;
}

async function* entryBatches(
  context: Context,
  { snapshot }: SnapshotLease,
  asked: readonly Asked[],
): AsyncGenerator<EntryResults[]> {
  const flags = readMetaFlags(context.query);
  const latest = context.query.flag('latest');
  for (let start = 0; start < asked.length; start += BATCH) {
    const batch = asked.slice(start, start + BATCH);
    const found = batch.flatMap((one) => (one.refused === undefined ? [one.id] : []));
    const records = new Map((await snapshot.documents(found)).map((record, index) => [found[index], record]));
    const selections = batch.map((one) => {
      if (one.refused !== undefined) return [];
      return selectRevisions(records.get(one.id), one.rev === undefined ? 'all' : [one.rev], latest);
    });
    const texts = await readTexts(snapshot, selections.flat(), flags);
    let next = 0;
    yield batch.map((one, index) => {
      const results = (selections[index] ?? []).map((selected): Result => {
        const text = texts[next++];
        if (text !== undefined) return { ok: true, text };
        return missingResult(one.id, selected.record === undefined ? selected.missing : revOf(selected.node));
      });
      return { id: one.id, results: results.length > 0 ? results : [emptyResult(one)] };
    });
  }
}

/** For an entry without any revision to show: it was refused, or there is no such document. */
function emptyResult(asked: Asked): Result {
  if (asked.refused === undefined) return missingResult(asked.id, asked.rev ?? UNKNOWN);
  const { error, reason } = showError(asked.refused);
  return errorResult(asked.id, asked.rev ?? UNKNOWN, error, reason);
}

function missingResult(id: string, rev: string): Result {
  return errorResult(id, rev, 'not_found', 'missing');
}

function errorResult(id: string, rev: string, error: string, reason: unknown): Result {
  return { ok: false, text: JSON.stringify({ id, rev, error, reason }) };
}

async function* listText(batches: AsyncIterable<readonly EntryResults[]>): AsyncGenerator<string, void, void> {
  let separator = '{"results":[';
  for await (const batch of batches) {
    yield separator + batch.map(entryText).join(',');
    separator = ',';
  }
  yield separator === ',' ? ']}\n' : '{"results":[]}\n';
}

function entryText({ id, results }: EntryResults): string {
  const docs = results.map(resultText);
  return `{"id":${JSON.stringify(id)},"docs":[${docs.join(',')}]}`;
}

/** As `listText`, one revision after another, with what is asked of their attachments. */
async function* listPieces(
  context: Context,
  { snapshot }: SnapshotLease,
  asked: readonly Asked[],
  flags: AttachmentFlags,
): AsyncGenerator<string, void, void> {
  let separator = '{"results":[';
  for (const one of asked) {
    yield `${separator}{"id":${JSON.stringify(one.id)},"docs":[`;
    separator = ',';
    yield* entryPieces(context, snapshot, one, flags);
    yield ']}';
  }
  yield separator === ',' ? ']}\n' : '{"results":[]}\n';
}

async function* entryPieces(
  context: Context,
  snapshot: Snapshot,
  asked: Asked,
  flags: AttachmentFlags,
): AsyncGenerator<string, void, void> {
  let separator = '';
  for await (const { rendered, since, result } of entryRevisions(context, snapshot, asked)) {
    yield separator;
    separator = ',';
    if (rendered === undefined) yield resultText(result);
    else yield* okPieces(snapshot, rendered, { ...flags, since });
  }
}

/** As `listPieces`, for `multipart/mixed`. */
async function* mixedParts(
  context: Context,
  { snapshot }: SnapshotLease,
  asked: readonly Asked[],
): AsyncGenerator<MixedPart> {
  for (const one of asked) {
    for await (const found of entryRevisions(context, snapshot, one)) {
      yield found.rendered === undefined ? { type: ERROR_TYPE, text: found.result.text } : found;
    }
  }
}

/** A revision that an entry leads to, or why it can't be shown. */
type Found =
  | { readonly rendered: RenderedDocument; readonly since: readonly RevId[]; readonly result?: undefined }
  | { readonly rendered?: undefined; readonly since?: undefined; readonly result: Result };

async function* entryRevisions(context: Context, snapshot: Snapshot, asked: Asked): AsyncGenerator<Found, void, void> {
  if (asked.refused !== undefined) return yield { result: emptyResult(asked) };
  const { id, rev, since } = asked;
  const meta = readMetaFlags(context.query);
  const wanted = rev === undefined ? 'all' : [rev];
  const selected = selectRevisions(await snapshot.document(id), wanted, context.query.flag('latest'));
  if (selected.length === 0) yield { result: emptyResult(asked) };
  for (const revision of selected) {
    const rendered = await renderSelected(snapshot, revision, meta);
    if (rendered !== undefined) yield { rendered, since };
    else yield { result: missingResult(id, revision.record === undefined ? revision.missing : revOf(revision.node)) };
  }
}

function resultText({ ok, text }: Result): string {
  return ok ? `{"ok":${text}}` : `{"error":${text}}`;
}
