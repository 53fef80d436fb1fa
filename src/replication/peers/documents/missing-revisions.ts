/** Asks a peer which revisions it lacks (docs/http/bulk.md#missing-revisions), and accepts only valid parts of the response. */
import { isObject, type JsonObject, ownMember } from '../../../base/json/objects.ts';
import type { RefusedDocument } from '../../contract.ts';
import { type Answer, SHORT_ANSWER } from '../client/answer.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { MissingRevisions } from '../contract.ts';
import { isRevision } from '../identifiers.ts';

/** Statuses that concern the request: it may contain an id or revision that the peer can't accept. */
const OF_REVISIONS: readonly number[] = [400, 413, 414, 422];

/** Maximum characters of all leaves that may be ancestors: a document may have many thousands. */
const MAX_ANCESTORS_LENGTH = 8_388_608;
/** The maximum ratio of the response's length to the request's: with whitespace and escapes. */
const TIMES_ASKED = 6;

type Revisions = readonly (readonly [id: string, revs: readonly string[]])[];
type Refuse = (refused: RefusedDocument) => void;

/**
 * Returns the given revisions that the peer lacks. It may name no others. If the response for a document can't be
 * parsed, all its revisions count as missing: writing an existing one changes nothing. A request refused as a whole is sent again in
 * halves, until the revision that causes it is found, which is passed to `refuse`.
 */
export async function readMissing(
  client: PeerClient,
  revisions: Revisions,
  refuse: Refuse,
): Promise<readonly MissingRevisions[]> {
  const outcome = await askForMissing(client, revisions);
  if ('missing' in outcome) return outcome.missing;
  const halves = halvesOf(revisions);
  if (halves !== undefined) {
    const first = await readMissing(client, halves[0], refuse);
    return joined(first, await readMissing(client, halves[1], refuse));
  }
  // Checks whether it refuses this revision, or everything, which then fails.
  await client.ask({ method: 'POST', path: '/_revs_diff', body: '{}' }, (answer) => answer.object(SHORT_ANSWER));
  for (const [id, [rev = '']] of revisions) refuse({ id, rev, ...outcome });
  return [];
}

type Outcome = { readonly missing: readonly MissingRevisions[] } | { readonly error: string; readonly reason: string };

function askForMissing(client: PeerClient, revisions: Revisions): Promise<Outcome> {
  const members = revisions.map(([id, revs]) => `${JSON.stringify(id)}:${JSON.stringify(revs)}`);
  const body = `{${members.join(',')}}`;
  const request = { method: 'POST', path: '/_revs_diff', body, accepts: OF_REVISIONS };
  return client.ask(request, async (answer: Answer) => {
    if (answer.status >= 300) return answer.refusal();
    const diff = await answer.object(MAX_ANCESTORS_LENGTH + body.length * TIMES_ASKED);
    if (!isDiff(diff, revisions)) throw answer.unusable('it does not say which revisions are missing');
    return { missing: revisions.flatMap(([id, revs]) => missingOf(id, revs, ownMember(diff, id))) };
  });
}

/**
 * False for another object, such as an error that came with status 200: a document that the response does not name lacks nothing, so that no
 * document would be copied.
 */
function isDiff(diff: JsonObject, revisions: Revisions): boolean {
  if (typeof ownMember(diff, 'error') === 'string') return false;
  const odd = Object.keys(diff).filter((id) => !isObject(ownMember(diff, id)));
  if (odd.length === 0) return true;
  const offered = new Set(revisions.map(([id]) => id));
  return odd.every((id) => offered.has(id));
}

function missingOf(id: string, offered: readonly string[], entry: unknown): readonly MissingRevisions[] {
  if (entry === undefined) return [];
  const { missing: named, possible_ancestors: ancestors } = isObject(entry) ? entry : {};
  const isEmpty = Array.isArray(named) && named.length === 0;
  if (isEmpty) return [];
  const missing = textsOf(named);
  const known = offered.filter((rev) => missing.has(rev));
  return [
    { id, missing: known.length > 0 ? known : offered, possibleAncestors: [...textsOf(ancestors)].filter(isRevision) },
  ];
}

function textsOf(value: unknown): ReadonlySet<string> {
  const list: readonly unknown[] = Array.isArray(value) ? value : [];
  return new Set(list.filter((one): one is string => typeof one === 'string'));
}

/** Undefined for one revision of one document. */
function halvesOf(revisions: Revisions): readonly [Revisions, Revisions] | undefined {
  const half = Math.ceil(revisions.length / 2);
  if (revisions.length > 1) return [revisions.slice(0, half), revisions.slice(half)];
  const [[id, revs] = ['', []]] = revisions;
  const middle = Math.ceil(revs.length / 2);
  return revs.length > 1 ? [[[id, revs.slice(0, middle)]], [[id, revs.slice(middle)]]] : undefined;
}

function joined(some: readonly MissingRevisions[], more: readonly MissingRevisions[]): readonly MissingRevisions[] {
  const byId = new Map(some.map((one) => [one.id, one]));
  for (const one of more) {
    const other = byId.get(one.id);
    const missing = [...(other?.missing ?? []), ...one.missing];
    const possibleAncestors = [...new Set([...(other?.possibleAncestors ?? []), ...one.possibleAncestors])];
    byId.set(one.id, { id: one.id, missing, possibleAncestors });
  }
  return [...byId.values()];
}
