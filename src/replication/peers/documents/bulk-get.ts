/** Reads documents with `POST /{db}/_bulk_get` (docs/http/bulk.md#bulk-reads), and hands them on while they arrive. */
import { OPEN_BRACE, OPEN_BRACKET } from '../../../base/json/characters.ts';
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { isObject, ownMember } from '../../../base/json/objects.ts';
import type { Answer } from '../client/answer.ts';
import { AttemptFailure } from '../client/attempt-failure.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { FoundDocument, WantedDocument } from '../contract.ts';
import { queryText } from '../paths.ts';
import { mostElements, readElements } from './answered-list.ts';
import { foundDocument, refusedDocument } from './found-document.ts';
import { Settled } from './settled.ts';

/** Statuses of peers that have no such endpoint; old ones take it for a form that is uploaded, or for a document's id. */
const UNKNOWN_ENDPOINT = [400, 403, 404, 405, 406, 415, 501];
const TOO_LARGE = 413;
const SERVER_FAILURE = 500;
/** Some servers fail on what they don't know; and one document may be at fault, which is found then. */
const MOST_SERVER_FAILURES = 3;

/** Content, or which of the attachments are stored in a compressed form: a digest is of that form. */
export function contentParameters({ attachments }: ReadOptions): Readonly<Record<string, string>> {
  return attachments ? { attachments: 'true' } : { att_encoding_info: 'true' };
}

/** Those that the peer did not answer are left: all of them where it has no such endpoint. */
export interface BulkGetOutcome {
  readonly isSupported: boolean;
  readonly left: readonly WantedDocument[];
}

export interface ReadOptions {
  /** Whether the content of attachments is to be in the documents, but for those that `since` has. */
  readonly attachments: boolean;
}

/** What is still wanted, by ids. */
type AskedById = Map<string, Settled>;

/**
 * An answer that is not what was asked for (another document, a revision that descends from none of those that are wanted, a form that nobody
 * knows) settles nothing: what it was about is left.
 */
export async function readByBulkGet(
  client: PeerClient,
  wanted: readonly WantedDocument[],
  options: ReadOptions,
  take: (found: FoundDocument) => Promise<void>,
): Promise<BulkGetOutcome> {
  const asked: AskedById = new Map(wanted.map((one) => [one.id, new Settled(one, take)]));
  const path = `/_bulk_get${queryText({ revs: 'true', latest: 'true', ...contentParameters(options) })}`;
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
    if (answer.status < 300) await readResults(answer, asked, options);
    else await answer.discard();
    return answer.status;
  });
  const left = [...asked.values()].map((one) => one.left);
  if (status < 300) return { isSupported: true, left };
  if (status !== TOO_LARGE || left.length < 2) return { isSupported: status === TOO_LARGE, left };
  const half = Math.ceil(left.length / 2);
  const first = await readByBulkGet(client, left.slice(0, half), options, take);
  const second = await readByBulkGet(client, left.slice(half), options, take);
  return { isSupported: first.isSupported && second.isSupported, left: [...first.left, ...second.left] };
}

function bodyOf(asked: AskedById, { attachments }: ReadOptions): string {
  const docs: string[] = [];
  for (const one of asked.values()) {
    const { since, revs } = one.left;
    const id = JSON.stringify(one.left.id);
    const known = attachments && since.length > 0 ? `,"atts_since":${JSON.stringify(since)}` : '';
    for (const rev of revs) docs.push(`{"id":${id},"rev":${JSON.stringify(rev)}${known}}`);
  }
  return `{"docs":[${docs.join(',')}]}`;
}

/**
 * What was answered is taken off the list, so that it is not asked for again where the answer breaks off behind it. What stays on it was not
 * answered, or with an error that says nothing about whether the revision is there.
 */
async function readResults(answer: Answer, asked: AskedById, options: ReadOptions): Promise<void> {
  const takeElement = async (element: string) => {
    const { id, results } = readElement(element);
    const one = asked.get(id);
    if (one === undefined) return;
    for (const result of results) await one.take(() => toFound(result, one, options));
    if (one.isDone) asked.delete(id);
  };
  const revs = [...asked.values()].reduce((sum, { left }) => sum + left.revs.length, 0);
  try {
    await readElements(answer, { member: 'results', most: mostElements(revs) }, takeElement);
  } catch (failure) {
    // It broke off behind all that was asked for.
    if (!(failure instanceof AttemptFailure) || asked.size > 0) throw failure;
    await answer.discard();
  }
}

/** The text of a document, or what is the matter with a revision. */
type Result =
  | { readonly text: string; readonly error?: undefined }
  | { readonly error: { readonly rev: string; readonly error: string; readonly reason: string } };

interface Element {
  readonly id: string;
  readonly results: readonly Result[];
}

const NOTHING: Element = { id: '', results: [] };

/** `{"id":…,"docs":[{"ok":…} | {"error":…}…]}`. What is of another form says nothing. */
function readElement(text: string): Element {
  try {
    const results: Result[] = [];
    let id = '';
    const members = new JsonCursor(text);
    members.enter();
    while (members.nextMember()) {
      if (members.name === 'id') id = String(JSON.parse(members.valueText));
      if (members.name !== 'docs' || text.charCodeAt(members.valueStart) !== OPEN_BRACKET) continue;
      const docs = new JsonCursor(text, members.valueStart);
      docs.enter();
      while (docs.nextElement()) results.push(...readResult(text, docs.valueStart));
    }
    return { id, results };
  } catch (failure) {
    if (failure instanceof SyntaxError) return NOTHING;
    throw failure;
  }
}

function readResult(text: string, start: number): readonly Result[] {
  if (text.charCodeAt(start) !== OPEN_BRACE) return [];
  const cursor = new JsonCursor(text, start);
  cursor.enter();
  while (cursor.nextMember()) {
    if (cursor.name === 'ok') return [{ text: cursor.valueText }];
    if (cursor.name === 'error') return [{ error: readError(JSON.parse(cursor.valueText)) }];
  }
  return [];
}

function readError(value: unknown) {
  const members = isObject(value) ? value : {};
  const member = (name: string, otherwise: string) => {
    const given = ownMember(members, name);
    return typeof given === 'string' ? given : otherwise;
  };
  return { rev: member('rev', ''), error: member('error', 'not_found'), reason: member('reason', 'missing') };
}

/** Undefined where the result does not say what is with one of the wanted revisions. */
function toFound(result: Result, asked: Settled, { attachments }: ReadOptions): FoundDocument | undefined {
  if (result.error === undefined) return foundDocument(result.text, asked, attachments);
  const { rev, error, reason } = result.error;
  if (error !== 'not_found' || !asked.revs.has(rev)) return undefined;
  return refusedDocument(asked.wanted.id, rev, error, reason);
}
