/** Requests a peer's changes (docs/http/changes.md), and reads its response. */
import { isObject, ownMember } from '../../../base/json/objects.ts';
import { whenReady } from '../../../base/shared/maybe-promise.ts';
import type { Selection, Sequence } from '../../contract.ts';
import type { Answer } from '../client/answer.ts';
import type { PeerClient, PeerRequest } from '../client/peer-client.ts';
import { readElements } from '../client/streamed-answers.ts';
import type { Change, ChangesPage, ChangesRequest } from '../contract.ts';
import { idProblem, isRevision, queryText } from '../identifiers.ts';
import { isSequence } from '../sequences.ts';

interface FeedParameters {
  readonly feed: 'normal' | 'longpoll' | 'continuous';
  /** The interval between signs of life while there is nothing to report; undefined for none. */
  readonly heartbeatMs: number | undefined;
  readonly limit?: number | undefined;
}

export function changesRequest(
  { since, selection }: Omit<ChangesRequest, 'limit'>,
  parameters: FeedParameters,
): PeerRequest {
  const { feed, heartbeatMs, limit } = parameters;
  const { query, body } = selectionParts(selection);
  const own = {
    feed,
    style: 'all_docs',
    since: sequenceText(since),
    heartbeat: heartbeatMs === undefined ? undefined : String(heartbeatMs),
    limit: limit === undefined ? undefined : String(limit),
  };
  // The parameters of a filter function can't replace these.
  const path = `/_changes${queryText({ ...query, ...own })}`;
  const names = selection?.kind === 'filter' ? `filter ${selection.filter}` : undefined;
  return { method: body === undefined ? 'GET' : 'POST', path, body, names };
}

function selectionParts(selection: Selection | undefined): {
  readonly query: Readonly<Record<string, string>>;
  readonly body?: string;
} {
  if (selection === undefined) return { query: {} };
  if (selection.kind === 'ids') {
    return { query: { filter: '_doc_ids' }, body: JSON.stringify({ doc_ids: selection.ids }) };
  }
  if (selection.kind === 'selector') {
    return { query: { filter: '_selector' }, body: `{"selector":${selection.selector}}` };
  }
  return { query: { ...selection.parameters, filter: selection.filter } };
}

function sequenceText(since: Sequence): string {
  return typeof since === 'string' ? since : JSON.stringify(since);
}

/**
 * Returns a row with its sequence. Throws `SyntaxError` if it is not one. Revisions that no document can have are refused by name: they do not
 * affect the other rows.
 */
export function readChange(row: unknown): Change & { readonly seq: Sequence } {
  const members = isObject(row) ? row : {};
  const id = ownMember(members, 'id');
  if (typeof id !== 'string') throw new SyntaxError('A row is not a change of a document');
  const seq = readSequence(ownMember(members, 'seq'));
  const changes = ownMember(members, 'changes');
  const named = Array.isArray(changes) ? namedRevisions(changes) : [];
  const problem = idProblem(id) ?? (named.length === 0 ? 'the row of the source contains no revision' : undefined);
  if (problem !== undefined) {
    const refused = named.length === 0 ? [''] : named;
    return { id, revs: [], seq, refused: refused.map((rev) => ({ id, rev, error: BAD_CHANGE, reason: problem })) };
  }
  const revs = named.filter(isRevision);
  if (revs.length === named.length) return { id, revs, seq };
  const reason = 'this is not a valid revision';
  const wrong = named.filter((rev) => !isRevision(rev));
  return { id, revs, seq, refused: wrong.map((rev) => ({ id, rev, error: BAD_CHANGE, reason })) };
}

/** Characters of a row. A document may have a hundred thousand leaves. */
export const MAX_ROW_LENGTH = 8_388_608;
/** Maximum number of entries of a row that are not revisions. A row with more is not a list of revisions. */
const MAX_WRONG = 1_000;
/** For an entry besides its text. */
const ENTRY_BYTES = 64;

/** Returns the approximate bytes that a change takes. */
export function changeBytes({ id, revs, refused = [] }: Change): number {
  let bytes = ENTRY_BYTES + 2 * id.length;
  for (const rev of revs) bytes += ENTRY_BYTES + rev.length;
  for (const { rev } of refused) bytes += ENTRY_BYTES + 2 * rev.length;
  return bytes;
}

/** The error for revisions that the source names, and that no document can have. */
const BAD_CHANGE = 'bad_change';

function namedRevisions(changes: readonly unknown[]): readonly string[] {
  const named: string[] = [];
  let wrong = 0;
  for (const change of changes) {
    const rev = revOf(change);
    if (!isRevision(rev) && ++wrong > MAX_WRONG) throw new SyntaxError('A row contains entries that are not revisions');
    named.push(rev);
  }
  return named;
}

function revOf(change: unknown): string {
  const rev = isObject(change) ? ownMember(change, 'rev') : undefined;
  return typeof rev === 'string' ? rev : '';
}

/**
 * Throws `SyntaxError` if it is not a sequence, or can't be sent back unchanged: with an invented sequence a replication would begin
 * from the start, or miss changes.
 */
export function readSequence(value: unknown): Sequence {
  if (isSequence(value)) return value;
  throw new SyntaxError('The value is not a sequence');
}

/** Returns the value if it is a count. */
export function readPending(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

const BAD_REQUEST = 400;

/** Requests changes that come as one list. */
export function readChangesPage(client: PeerClient, request: PeerRequest, limit: number): Promise<ChangesPage> {
  return client.ask(request, (answer) => readPage(answer, limit));
}

/** As `readChangesPage`; undefined if the peer refuses the request as it stands. */
export function tryChangesPage(
  client: PeerClient,
  request: PeerRequest,
  limit: number,
): Promise<ChangesPage | undefined> {
  return client.ask({ ...request, accepts: [BAD_REQUEST] }, async (answer) => {
    if (answer.status < 300) return readPage(answer, limit);
    await answer.discard();
    return undefined;
  });
}

/** A row is stored as soon as it arrives, so that a response takes no more memory than the requested changes. */
async function readPage(answer: Answer, limit: number): Promise<ChangesPage> {
  const changes: (Change & { readonly seq: Sequence })[] = [];
  const list = { member: 'results', most: limit, longest: MAX_ROW_LENGTH };
  const takeRow = (row: unknown) => {
    const change = answer.useable(() => readChange(row));
    changes.push(change);
    return answer.hold(changeBytes(change));
  };
  const members = await readElements(answer, list, (text) => whenReady(answer.parse(text), takeRow));
  if (members === undefined) throw answer.unusable('a row is not a change');
  return answer.useable(() => ({
    changes,
    lastSeq: readSequence(ownMember(members, 'last_seq') ?? changes.at(-1)?.seq),
    pending: readPending(ownMember(members, 'pending')),
  }));
}
