/** How a peer is asked for its changes (docs/http.md#changes), and what it answers. */
import { isObject, ownMember } from '../../../json/objects.ts';
import type { Selection, Sequence } from '../../contract.ts';
import type { PeerRequest } from '../asking/peer-client.ts';
import type { Change, ChangesRequest } from '../contract.ts';
import { queryText } from '../paths.ts';

export interface FeedParameters {
  readonly feed: 'normal' | 'longpoll' | 'continuous';
  /** Between signs of life while there is nothing to tell; undefined for none. */
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
  // The parameters of a filter function can't take the place of those.
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

/** A row with its sequence. Throws `SyntaxError` where it is none. */
export function readChange(row: unknown): Change & { readonly seq: Sequence } {
  const members = isObject(row) ? row : {};
  const id = ownMember(members, 'id');
  const changes = ownMember(members, 'changes');
  if (typeof id !== 'string' || !Array.isArray(changes)) throw new SyntaxError('A row is no change of a document');
  return { id, revs: changes.map(readRev), seq: readSequence(ownMember(members, 'seq')) };
}

function readRev(change: unknown): string {
  const rev = isObject(change) ? change['rev'] : undefined;
  if (typeof rev === 'string') return rev;
  throw new SyntaxError('A change has no revision');
}

/** Throws `SyntaxError` where it is none: with a sequence that was made up a replication would begin anew, or miss something. */
export function readSequence(value: unknown): Sequence {
  if (typeof value === 'number' || typeof value === 'string' || Array.isArray(value)) return value;
  throw new SyntaxError('A sequence is none');
}

/** A count, where it is one. */
export function readPending(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}
