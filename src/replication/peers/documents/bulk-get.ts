/** Reads documents with `POST /{db}/_bulk_get` (docs/http/bulk.md#bulk-reads), and passes them on while they arrive. */
import { OPEN_BRACE, OPEN_BRACKET } from '../../../base/json/characters.ts';
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { isObject, ownMember } from '../../../base/json/objects.ts';
import { type CooperativeTask, runCooperatively } from '../../../base/shared/turn.ts';
import type { Answer } from '../client/answer.ts';
import { AttemptFailure } from '../client/attempt-failure.ts';
import type { PeerClient } from '../client/peer-client.ts';
import { mostElements, readElements } from '../client/streamed-answers.ts';
import type { FoundDocument, WantedDocument } from '../contract.ts';
import { queryText } from '../identifiers.ts';
import { foundDocument, refusedDocument, Settled } from './requested-document.ts';

/** Statuses of peers without this endpoint; old ones treat it as a form upload, or as a document's id. */
const UNKNOWN_ENDPOINT = [400, 403, 404, 405, 406, 415, 501];
const TOO_LARGE = 413;
const SERVER_FAILURE = 500;
/** In place of a status: no response could be used. */
const UNUSABLE = 0;
/** Some servers fail on unknown requests; or one document may be the cause, which is found then. */
const MAX_SERVER_FAILURES = 3;

/** Requests content, or which attachments are stored compressed: a digest is for that form. */
export function contentParameters({ attachments }: ReadOptions): Readonly<Record<string, string>> {
  return attachments ? { attachments: 'true' } : { att_encoding_info: 'true' };
}

/** What the peer did not answer is left: everything if it has no such endpoint. */
export interface BulkGetOutcome {
  readonly isSupported: boolean;
  readonly left: readonly WantedDocument[];
}

export interface ReadOptions {
  /** Whether the documents include the content of attachments, except those that `since` has. */
  readonly attachments: boolean;
}

/** The documents still wanted, by id. */
type AskedById = Map<string, Settled>;

/**
 * An element that was not requested (another document, a revision that descends from no wanted one, an unknown
 * form) settles nothing: its revisions stay wanted.
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
  const use = async (answer: Answer) => {
    if (answer.status === SERVER_FAILURE && ++serverFailures < MAX_SERVER_FAILURES) {
      throw answer.unusable('the server failed');
    }
    if (answer.status < 300) await readResults(answer, asked, options);
    else await answer.discard();
    return answer.status;
  };
  const status = await client.ask(request, use).catch(async (failure: unknown) => {
    // The documents that did not arrive are read one by one: the response may break off at one of them.
    if (await client.isOfRequest(failure)) return UNUSABLE;
    throw failure;
  });
  const left = [...asked.values()].map((one) => one.left);
  if (status === UNUSABLE) return { isSupported: true, left };
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
 * Settled revisions leave the list, so that they are not requested again if the response is cut off after them. The rest was not
 * answered, or with an error that does not say whether the revision exists.
 */
async function readResults(answer: Answer, asked: AskedById, options: ReadOptions): Promise<void> {
  const takeElement = async (element: string) => {
    const reading = runCooperatively(readElement(element));
    const { id, results } = reading instanceof Promise ? await reading : reading;
    const one = asked.get(id);
    if (one === undefined) return;
    for (const result of results) await one.take(() => toFound(result, one, options));
    if (one.isDone) asked.delete(id);
  };
  const revs = [...asked.values()].reduce((sum, { left }) => sum + left.revs.length, 0);
  try {
    await readElements(answer, { member: 'results', most: mostElements(revs) }, takeElement);
  } catch (failure) {
    // The response was cut off after everything requested.
    if (!(failure instanceof AttemptFailure) || asked.size > 0) throw failure;
    await answer.discard();
  }
}

/** The text of a document, or the error for a revision. */
type Result =
  | { readonly text: string; readonly error?: undefined }
  | { readonly error: { readonly rev: string; readonly error: string; readonly reason: string } };

interface Element {
  readonly id: string;
  readonly results: readonly Result[];
}

const NOTHING: Element = { id: '', results: [] };

/** `{"id":…,"docs":[{"ok":…} | {"error":…}…]}`. An element of another form settles nothing. */
function* readElement(text: string): CooperativeTask<Element> {
  try {
    const results: Result[] = [];
    let id = '';
    const members = new JsonCursor(text);
    members.enter();
    while (yield* members.nextMemberInSteps()) {
      if (members.name === 'id') id = String(JSON.parse(members.valueText));
      if (members.name !== 'docs' || text.charCodeAt(members.valueStart) !== OPEN_BRACKET) continue;
      const docs = new JsonCursor(text, members.valueStart);
      docs.enter();
      while (yield* docs.nextElementInSteps()) results.push(...(yield* readResult(text, docs.valueStart)));
    }
    return { id, results };
  } catch (failure) {
    if (failure instanceof SyntaxError) return NOTHING;
    throw failure;
  }
}

function* readResult(text: string, start: number): CooperativeTask<readonly Result[]> {
  if (text.charCodeAt(start) !== OPEN_BRACE) return [];
  const cursor = new JsonCursor(text, start);
  cursor.enter();
  while (yield* cursor.nextMemberInSteps()) {
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

/** Undefined if the result does not settle a wanted revision. */
function* toFound(
  result: Result,
  asked: Settled,
  { attachments }: ReadOptions,
): CooperativeTask<FoundDocument | undefined> {
  if (result.error === undefined) return yield* foundDocument(result.text, asked, attachments);
  const { rev, error, reason } = result.error;
  if (error !== 'not_found' || !asked.revs.has(rev)) return undefined;
  return refusedDocument(asked.wanted.id, rev, error, reason);
}
