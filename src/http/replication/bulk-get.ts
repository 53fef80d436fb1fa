/** `POST /{db}/_bulk_get`: many revisions in one request (docs/http/bulk.md#bulk-reads). Order and duplicates are kept. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, ownMember } from '../../base/json/objects.ts';
import { must } from '../../base/shared/assert.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import { parseRevId } from '../../database/documents/revisions/revisions.ts';
import type { Snapshot } from '../../database/store/contract.ts';
import { type MixedPart, mixedAnswer } from '../documents/mixed-answer.ts';
import { revisionOf, type Selected, selectEach, selectRevisions, shownOf } from '../documents/revision-selection.ts';
import { accepts } from '../request/accept.ts';
import { readObject } from '../request/bodies.ts';
import type { Answer, Context } from '../request/context.ts';
import { type SnapshotLease, withSnapshotLease } from '../request/snapshot-lease.ts';
import { showError } from '../response/error-table.ts';
import { textAnswer, withHeader } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { readMetaFlags } from '../shown/document-rendering.ts';
import { readAttachmentFlags } from '../shown/inline-attachments.ts';
import { readRevisions } from '../shown/revision-batches.ts';

const UNKNOWN = 'undefined';
const JSON_TYPE = 'application/json';
const ERROR_TYPE = `${JSON_TYPE}; error="true"`;

/** What one entry asks for, or why it can't be answered. */
type Asked =
  | {
      readonly id: DocId;
      readonly rev: RevId | undefined;
      /** Revisions that the reader has: attachments that these have stay stubs. */
      readonly since: readonly RevId[];
      readonly refused?: undefined;
    }
  | {
      readonly id: string;
      readonly rev: string | undefined;
      readonly since?: undefined;
      readonly refused: DatabaseError;
    };

export async function postBulkGet(context: Context, database: string): Promise<Answer> {
  const docs = ownMember(await readObject(context), 'docs');
  if (!Array.isArray(docs)) throw new DatabaseError('bad_request', "Missing JSON list of 'docs'.");
  const accept = context.header('accept');
  const multipart = !accepts(accept, 'application/json') && accepts(accept, 'multipart/mixed');
  return withSnapshotLease(context, database, async (lease) => {
    if (multipart) return mixedAnswer(context, lease, mixedParts(context, lease, docs));
    const pieces = listText(context, lease, docs);
    const list = textAnswer(context, 200, await streamedBody(context, pieces, lease.release));
    // Replicators accept both JSON and multipart, and read the type of the response.
    return withHeader(list, 'content-type', JSON_TYPE);
  });
}

/** Refuses a bad entry separately; the others are answered. */
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

/** JSON text for an entry with no revision to show: it was refused, or there is no such document. */
function emptyResult(asked: Asked): string {
  if (asked.refused === undefined) return missingResult(asked.id, asked.rev ?? UNKNOWN);
  const { error, reason } = showError(asked.refused);
  return JSON.stringify({ id: asked.id, rev: asked.rev ?? UNKNOWN, error, reason });
}

function missingResult(id: string, rev: string): string {
  return JSON.stringify({ id, rev, error: 'not_found', reason: 'missing' });
}

/** The result for one entry: its revisions, or why there are none. */
interface Entry {
  readonly asked: Asked;
  readonly selected: Iterable<Selected>;
}

/** Looks up adjacent entries for revisions of one document together. Reads each entry only when its turn comes. */
async function* entries(context: Context, snapshot: Snapshot, docs: readonly unknown[]): AsyncGenerator<Entry> {
  const latest = context.query.flag('latest');
  /** Entries whose records were not read yet. */
  const asked: (readonly Asked[])[] = [];
  for await (const records of snapshot.documentBatches(idsOf(docs, asked))) {
    const now = asked.splice(0, records.length);
    for (const [index, record] of records.entries()) {
      const ofOne = must(now[index]);
      const revs = ofOne.flatMap((one) => (one.refused === undefined ? (one.rev ?? []) : []));
      if (revs.length === ofOne.length) {
        const selected = selectEach(record, revs, latest);
        const each = selected instanceof Promise ? await selected : selected;
        for (const [at, some] of each.entries()) yield { asked: must(ofOne[at]), selected: some };
        continue;
      }
      const one = must(ofOne[0]);
      const all = one.refused === undefined ? selectRevisions(record, 'all', latest) : [];
      yield { asked: one, selected: all instanceof Promise ? await all : all };
    }
  }
}

/** Maximum number of entries that are looked up together. */
const MAX_TOGETHER = 4_096;

/** Yields an id for each document. `asked` gets the entries that name revisions of it, or the one that names none. */
function* idsOf(docs: readonly unknown[], asked: (readonly Asked[])[]): Iterable<DocId | undefined> {
  let together: Asked[] = [];
  for (let at = 0; at < docs.length; at++) {
    const one = readEntry(docs[at]);
    together.push(one);
    const { id, rev, refused } = one;
    const mayGoOn = refused === undefined && rev !== undefined && together.length < MAX_TOGETHER;
    if (mayGoOn && namesRevisionOf(docs[at + 1], id)) continue;
    asked.push(together);
    together = [];
    yield refused === undefined ? id : undefined;
  }
}

/** Whether an entry can be looked up with others of that document. */
function namesRevisionOf(entry: unknown, id: string): boolean {
  const next = isObject(entry) && ownMember(entry, 'id') === id ? readEntry(entry) : undefined;
  return next !== undefined && next.refused === undefined && next.rev !== undefined;
}

/** One revision of an entry, or what is sent in place of all of them. */
interface Item {
  readonly asked: Asked;
  readonly one: Selected | undefined;
  /** Whether it is the first of its entry. */
  readonly isFirst: boolean;
}

function* itemsOf({ asked, selected }: Entry): Generator<Item, void, void> {
  let isFirst = true;
  for (const one of selected) {
    yield { asked, one, isFirst };
    isFirst = false;
  }
  if (isFirst) yield { asked, one: undefined, isFirst };
}

async function* listText(
  context: Context,
  { snapshot }: SnapshotLease,
  docs: readonly unknown[],
): AsyncGenerator<string, void, void> {
  const meta = readMetaFlags(context.query);
  const attachments = readAttachmentFlags(context.query);
  const shown = ({ asked: { since }, one }: Item) =>
    one && shownOf(one, { meta, attachments: attachments && { ...attachments, since: since ?? [] } });
  let before = '{"results":[';
  for await (const batch of readRevisions(snapshot, entries(context, snapshot, docs), itemsOf, shown)) {
    let text = '';
    for (const { item, text: found } of batch) {
      if (item.isFirst) {
        text += `${before}{"id":${JSON.stringify(item.asked.id)},"docs":[`;
        before = ']},';
      } else text += ',';
      if (typeof found === 'string') text += `{"ok":${found}}`;
      else if (found === undefined) text += `{"error":${errorOf(item)}}`;
      else {
        yield `${text}{"ok":`;
        yield* found;
        text = '}';
      }
    }
    yield text;
  }
  yield before === ']},' ? ']}]}\n' : '{"results":[]}\n';
}

function errorOf({ asked, one }: Item): string {
  return one === undefined ? emptyResult(asked) : missingResult(asked.id, revisionOf(one));
}

/** Like `listText`, for `multipart/mixed`. */
async function* mixedParts(
  context: Context,
  { snapshot }: SnapshotLease,
  docs: readonly unknown[],
): AsyncGenerator<MixedPart> {
  const meta = readMetaFlags(context.query);
  for await (const entry of entries(context, snapshot, docs)) {
    for (const item of itemsOf(entry)) {
      const shown = item.one && shownOf(item.one, { meta });
      yield shown === undefined ? { type: ERROR_TYPE, text: errorOf(item) } : { shown, since: item.asked.since ?? [] };
    }
  }
}
