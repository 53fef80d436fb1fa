/** Reads documents with `POST /{db}/_bulk_get` (docs/http.md#bulk-reads), and hands them on while they arrive. */
import { JsonCursor } from '../../../json/json-cursor.ts';
import { ListCutter } from '../../../json/list-cutter.ts';
import { isObject, ownMember } from '../../../json/objects.ts';
import type { Answer } from '../asking/answer.ts';
import type { PeerClient } from '../asking/peer-client.ts';
import type { FoundDocument, WantedDocument } from '../contract.ts';
import { foundDocument, revOf } from './found-document.ts';

/** Statuses of peers that have no such endpoint; old ones take it for a form that is uploaded, or for a document's id. */
const UNKNOWN_ENDPOINT = [400, 403, 404, 405, 406, 415, 501];
const TOO_LARGE = 413;
const SERVER_FAILURE = 500;
/** Some servers fail on what they don't know; and one document may be at fault, which is found then. */
const MOST_SERVER_FAILURES = 3;

/** Those that the peer did not answer are left: all of them where it has no such endpoint. */
export interface BulkGetOutcome {
  readonly isSupported: boolean;
  readonly left: readonly WantedDocument[];
}

export interface ReadOptions {
  /** Whether the content of attachments is to be in the documents, but for those that `since` has. */
  readonly attachments: boolean;
}

/** A document that is asked for: which of its revisions came, and which will not. */
interface Asked {
  readonly wanted: WantedDocument;
  readonly settled: Set<string>;
}

/** What is still wanted, by ids. */
type AskedById = Map<string, Asked>;

export async function readByBulkGet(
  client: PeerClient,
  wanted: readonly WantedDocument[],
  options: ReadOptions,
  take: (found: FoundDocument) => Promise<void>,
): Promise<BulkGetOutcome> {
  const asked: AskedById = new Map(wanted.map((one) => [one.id, { wanted: one, settled: new Set() }]));
  const attachments = options.attachments ? '&attachments=true' : '';
  const path = `/_bulk_get?revs=true&latest=true${attachments}`;
  const request = () => ({
    method: 'POST',
    path,
    body: bodyOf(asked, options),
    accepts: [...UNKNOWN_ENDPOINT, TOO_LARGE, SERVER_FAILURE],
  });
  let serverFailures = 0;
  const status = await client.ask(request, async (answer) => {
    if (answer.status === SERVER_FAILURE && ++serverFailures < MOST_SERVER_FAILURES) {
      throw answer.unusable('the server failed');
    }
    if (answer.status < 300) await readResults(answer, asked, options, take);
    else await answer.discard();
    return answer.status;
  });
  const left = [...asked.values()].map((one) => ({ ...one.wanted, revs: openRevs(one) }));
  if (status < 300) return { isSupported: true, left };
  if (status !== TOO_LARGE || left.length < 2) return { isSupported: status === TOO_LARGE, left };
  const half = Math.ceil(left.length / 2);
  const first = await readByBulkGet(client, left.slice(0, half), options, take);
  const second = await readByBulkGet(client, left.slice(half), options, take);
  return { isSupported: first.isSupported && second.isSupported, left: [...first.left, ...second.left] };
}

/** Those that were not dealt with. All of them where all were, since an answer broke off behind that. */
function openRevs({ wanted, settled }: Asked): readonly string[] {
  const open = wanted.revs.filter((rev) => !settled.has(rev));
  return open.length === 0 ? wanted.revs : open;
}

function bodyOf(asked: AskedById, { attachments }: ReadOptions): string {
  const docs: string[] = [];
  for (const one of asked.values()) {
    const { since } = one.wanted;
    const id = JSON.stringify(one.wanted.id);
    const known = attachments && since.length > 0 ? `,"atts_since":${JSON.stringify(since)}` : '';
    for (const rev of openRevs(one)) docs.push(`{"id":${id},"rev":${JSON.stringify(rev)}${known}}`);
  }
  return `{"docs":[${docs.join(',')}]}`;
}

/**
 * What was answered is taken off the list, so that it is not asked for again where the answer breaks off behind it. What stays on it was not
 * answered, or with an error that says nothing about whether the revision is there.
 */
async function readResults(
  answer: Answer,
  asked: AskedById,
  options: ReadOptions,
  take: (found: FoundDocument) => Promise<void>,
): Promise<void> {
  const cutter = new ListCutter('results');
  const outstanding = new Map(Array.from(asked, ([id, one]) => [id, openRevs(one).length]));
  for (let piece = await answer.pullText(); piece !== undefined; piece = await answer.pullText()) {
    const text = piece;
    for (const element of answer.useable(() => cutter.push(text))) {
      const { id, results } = answer.useable(() => readElement(element));
      const one = asked.get(id);
      if (one === undefined) continue;
      let count = outstanding.get(id) ?? 0;
      for (const result of results) {
        if (result.error !== undefined && result.error.error !== 'not_found') continue;
        count--;
        await takeOnce(
          answer.useable(() => toFound(result, one.wanted, options)),
          one,
          take,
        );
      }
      outstanding.set(id, count);
      if (count <= 0) asked.delete(id);
    }
  }
  answer.useable(() => cutter.finish());
}

/** Of several revisions some may have the same leaf, which comes for each of them. */
async function takeOnce(found: FoundDocument, { settled }: Asked, take: (found: FoundDocument) => Promise<void>) {
  const rev = revOf(found);
  if (settled.has(rev)) return;
  await take(found);
  settled.add(rev);
}

type Result =
  | { readonly text: string; readonly error?: undefined }
  | { readonly error: { readonly rev: string; readonly error: string; readonly reason: string } };

/** `{"id":…,"docs":[{"ok":…} | {"error":…}…]}` */
function readElement(text: string): { readonly id: string; readonly results: readonly Result[] } {
  const results: Result[] = [];
  let id = '';
  const members = new JsonCursor(text);
  members.enter();
  while (members.nextMember()) {
    if (members.name === 'id') id = String(JSON.parse(members.valueText));
    if (members.name !== 'docs') continue;
    const docs = new JsonCursor(text, members.valueStart);
    docs.enter();
    while (docs.nextElement()) results.push(readResult(text, docs.valueStart));
  }
  return { id, results };
}

function readResult(text: string, start: number): Result {
  const cursor = new JsonCursor(text, start);
  cursor.enter();
  while (cursor.nextMember()) {
    if (cursor.name === 'ok') return { text: cursor.valueText };
    if (cursor.name === 'error') return { error: readError(JSON.parse(cursor.valueText)) };
  }
  throw new SyntaxError('A result is neither a document nor an error');
}

function readError(value: unknown) {
  const members = isObject(value) ? value : {};
  const member = (name: string, otherwise: string) => String(ownMember(members, name) ?? otherwise);
  return { rev: member('rev', ''), error: member('error', 'not_found'), reason: member('reason', 'missing') };
}

function toFound(result: Result, wanted: WantedDocument, { attachments }: ReadOptions): FoundDocument {
  if (result.error !== undefined) return { type: 'refused', refused: { id: wanted.id, ...result.error } };
  return foundDocument(result.text, wanted, attachments);
}
