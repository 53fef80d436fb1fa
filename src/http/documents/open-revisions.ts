/** `GET /{db}/{docid}?open_revs=…`: the replicator's read (docs/http.md#open-revisions). Always 200. */
import type { DocId, RevId } from '../../documents/contract.ts';
import { parseRevId } from '../../documents/revisions/revisions.ts';
import { DatabaseError } from '../../errors/database-error.ts';
import { accepts } from '../request/accept.ts';
import { parseJson } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { type SnapshotLease, withSnapshotLease } from '../request/snapshot-lease.ts';
import { multipartText, multipartType, type Part } from '../response/multipart-writer.ts';
import { MUST_REVALIDATE, textAnswer } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { readMetaFlags, revOf } from './document-rendering.ts';
import { type AttachmentFlags, okPieces, readAttachmentFlags } from './inline-attachments.ts';
import { type MixedPart, mixedAnswer } from './mixed-answer.ts';
import { hasAttachments, readTexts, renderSelected, type Selected, selectRevisions } from './revision-selection.ts';

/** How many documents are read at once. */
const BATCH = 100;

export type OpenRevs = 'all' | readonly RevId[];

/** `all` or a list of revisions; undefined where an empty list asks for a plain read. */
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
    const selected = selectRevisions(record, wanted, context.query.flag('latest'));
    const multipart = accepts(context.header('accept'), 'multipart/mixed');
    const withContent = selected.some(hasAttachments);
    if (multipart && withContent) return mixedAnswer(context, lease, mixedParts(context, lease, selected));
    return multipart ? answerMultipart(context, lease, selected) : answerJson(context, lease, selected);
  });
}

async function answerJson(context: Context, lease: SnapshotLease, selected: readonly Selected[]): Promise<Answer> {
  const flags = readAttachmentFlags(context.query);
  const pieces =
    flags !== undefined && selected.some(hasAttachments)
      ? listPieces(context, lease, selected, flags)
      : listText(resultBatches(context, lease, selected));
  return textAnswer(context, 200, await streamedBody(context, pieces, lease.release));
}

async function answerMultipart(context: Context, lease: SnapshotLease, selected: readonly Selected[]): Promise<Answer> {
  const boundary = context.services.uuids.random();
  const pieces = multipartText(boundary, partBatches(context, lease, selected));
  const headers = { 'content-type': multipartType(boundary), 'cache-control': MUST_REVALIDATE, vary: 'Accept' };
  return { status: 200, headers, body: await streamedBody(context, pieces, lease.release) };
}

/** As `partBatches`, for parts that have parts themselves. */
async function* mixedParts(
  context: Context,
  { snapshot }: SnapshotLease,
  selected: readonly Selected[],
): AsyncGenerator<MixedPart> {
  const since = readAttachmentFlags(context.query)?.since ?? [];
  const meta = readMetaFlags(context.query);
  for (const one of selected) {
    const rendered = await renderSelected(snapshot, one, meta);
    yield rendered === undefined ? partFor(undefined, revisionOf(one)) : { rendered, since };
  }
}

/** As `listText`, with the content of attachments in the documents. */
async function* listPieces(
  context: Context,
  { snapshot }: SnapshotLease,
  selected: readonly Selected[],
  flags: AttachmentFlags,
): AsyncGenerator<string, void, void> {
  const meta = readMetaFlags(context.query);
  let separator = '[';
  for (const one of selected) {
    const rendered = await renderSelected(snapshot, one, meta);
    yield separator;
    separator = ',';
    if (rendered === undefined) yield missingText(revisionOf(one));
    else yield* okPieces(snapshot, rendered, flags);
  }
  yield separator === '[' ? '[]\n' : ']\n';
}

function revisionOf(one: Selected): RevId {
  return one.record === undefined ? one.missing : revOf(one.node);
}

/** A document's text, or the revision that is missing. */
interface Result {
  readonly text: string | undefined;
  readonly rev: RevId;
}

async function* resultBatches(
  context: Context,
  { snapshot }: SnapshotLease,
  selected: readonly Selected[],
): AsyncGenerator<Result[]> {
  const flags = readMetaFlags(context.query);
  for (let start = 0; start < selected.length; start += BATCH) {
    const batch = selected.slice(start, start + BATCH);
    const texts = await readTexts(snapshot, batch, flags);
    yield batch.map((one, index) => ({
      text: texts[index],
      rev: revisionOf(one),
    }));
  }
}

async function* listText(batches: AsyncIterable<readonly Result[]>): AsyncGenerator<string, void, void> {
  let separator = '[';
  for await (const batch of batches) {
    yield separator +
      batch.map(({ text, rev }) => (text === undefined ? missingText(rev) : `{"ok":${text}}`)).join(',');
    separator = ',';
  }
  yield separator === '[' ? '[]\n' : ']\n';
}

async function* partBatches(
  context: Context,
  lease: SnapshotLease,
  selected: readonly Selected[],
): AsyncGenerator<Part[]> {
  for await (const batch of resultBatches(context, lease, selected)) {
    yield batch.map(({ text, rev }) => partFor(text, rev));
  }
}

function partFor(text: string | undefined, rev: RevId): Part {
  if (text !== undefined) return { type: 'application/json', text };
  return { type: 'application/json; error="true"', text: missingText(rev) };
}

function missingText(rev: RevId): string {
  return `{"missing":${JSON.stringify(rev)}}`;
}
