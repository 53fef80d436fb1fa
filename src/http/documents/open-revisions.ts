/** `GET /{db}/{docid}?open_revs=…`: the replicator's read (docs/http/documents.md#open-revisions). Always 200. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { parseRevId } from '../../database/documents/revisions/revisions.ts';
import { accepts } from '../request/accept.ts';
import { parseJson } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { type SnapshotLease, withSnapshotLease } from '../request/snapshot-lease.ts';
import { MUST_REVALIDATE, textAnswer } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { readMetaFlags } from '../shown/document-rendering.ts';
import { type AttachmentFlags, readAttachmentFlags } from '../shown/inline-attachments.ts';
import { type ReadRevision, readRevisions } from '../shown/revision-batches.ts';
import { type MixedPart, MULTIPART_END, mixedAnswer, multipartType, partPieces, partText } from './mixed-answer.ts';
import { hasAttachments, revisionOf, type Selected, selectRevisions, shownOf } from './revision-selection.ts';

const JSON_TYPE = 'application/json';
const ERROR_TYPE = `${JSON_TYPE}; error="true"`;

export type OpenRevs = 'all' | readonly RevId[];

/** Returns `all` or a list of revisions; undefined if the list is empty, which requests a plain read. */
export function parseOpenRevs(text: string): OpenRevs | undefined {
  if (text === 'all') return text;
  const list = parseJson(text);
  if (!Array.isArray(list)) {
    throw new DatabaseError('bad_request', `open_revs is ${text}; it must be "all" or a JSON list of revisions.`);
  }
  return list.length === 0 ? undefined : list.map(parseRevId);
}

export async function answerOpenRevisions(
  context: Context,
  database: string,
  id: DocId,
  wanted: OpenRevs,
): Promise<Answer> {
  return withSnapshotLease(context, database, async (lease) => {
    const record = await lease.snapshot.document(id);
    const selected = await selectRevisions(record, wanted, context.query.flag('latest'));
    const multipart = accepts(context.header('accept'), 'multipart/mixed');
    if (multipart && hasAnyAttachments(selected)) return mixedAnswer(context, lease, mixedParts(context, selected));
    return multipart ? answerMultipart(context, lease, selected) : answerJson(context, lease, selected);
  });
}

function hasAnyAttachments(selected: Iterable<Selected>): boolean {
  for (const one of selected) if (hasAttachments(one)) return true;
  return false;
}

async function answerJson(context: Context, lease: SnapshotLease, selected: Iterable<Selected>): Promise<Answer> {
  const batches = resultBatches(context, lease, selected, readAttachmentFlags(context.query));
  return textAnswer(context, 200, await streamedBody(context, listText(batches), lease.release));
}

async function answerMultipart(context: Context, lease: SnapshotLease, selected: Iterable<Selected>): Promise<Answer> {
  const boundary = context.services.uuids.random();
  const pieces = multipartText(boundary, resultBatches(context, lease, selected, undefined));
  const headers = { 'content-type': multipartType(boundary), 'cache-control': MUST_REVALIDATE, vary: 'Accept' };
  return { status: 200, headers, body: await streamedBody(context, pieces, lease.release) };
}

/** Yields parts that contain parts themselves. */
async function* mixedParts(context: Context, selected: Iterable<Selected>): AsyncGenerator<MixedPart> {
  const since = readAttachmentFlags(context.query)?.since ?? [];
  const meta = readMetaFlags(context.query);
  for (const one of selected) {
    const shown = shownOf(one, { meta });
    yield shown === undefined ? { type: ERROR_TYPE, text: missingText(revisionOf(one)) } : { shown, since };
  }
}

type Results = AsyncIterable<readonly ReadRevision<Selected>[]>;

function resultBatches(
  context: Context,
  { snapshot }: SnapshotLease,
  selected: Iterable<Selected>,
  attachments: AttachmentFlags | undefined,
): Results {
  const meta = readMetaFlags(context.query);
  return readRevisions(snapshot, [selected], itself, (one) => shownOf(one, { meta, attachments }));
}

function itself<T>(items: Iterable<T>): Iterable<T> {
  return items;
}

async function* listText(batches: Results): AsyncGenerator<string, void, void> {
  let separator = '[';
  for await (const batch of batches) {
    const texts: string[] = [];
    for (const { item, text } of batch) {
      if (text === undefined) texts.push(missingText(revisionOf(item)));
      else if (typeof text === 'string') texts.push(`{"ok":${text}}`);
      else yield* okPieces(separator, text);
    }
    if (texts.length > 0) yield separator + texts.join(',');
    separator = ',';
  }
  yield separator === '[' ? '[]\n' : ']\n';
}

/** Yields a long text as a batch of its own. */
async function* okPieces(separator: string, text: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  yield `${separator}{"ok":`;
  yield* text;
  yield '}';
}

/** Yields the text. The boundary must be random, so that no document contains it. */
async function* multipartText(boundary: string, batches: Results): AsyncGenerator<string, void, void> {
  yield `--${boundary}`;
  for await (const batch of batches) {
    let parts = '';
    for (const { item, text } of batch) {
      if (text === undefined) parts += partText({ type: ERROR_TYPE, text: missingText(revisionOf(item)) }, boundary);
      else if (typeof text === 'string') parts += partText({ type: JSON_TYPE, text }, boundary);
      else yield* partPieces(JSON_TYPE, text, boundary);
    }
    if (parts !== '') yield parts;
  }
  yield MULTIPART_END;
}

function missingText(rev: RevId): string {
  return `{"missing":${JSON.stringify(rev)}}`;
}
