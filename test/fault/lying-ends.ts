/**
 * Sources and targets that answer something else than they were asked. Of each lie a table says what must come of it: all is copied, or some is
 * refused by name and the rest is copied, or the run fails with a reason and the checkpoint stays.
 *
 * Which file holds which lie, by the request that is answered (`lies-` stands for `replication-lies-`):
 *
 *     GET _changes               rows left out, repeated, out of order, too many, without a sequence; `last_seq` too early, too far; `pending`
 *                                too small, too large; cut off                                                    lies-positions
 *                                ids and revisions that no document has, forms that are none                      lies-changes
 *                                an error with status 200                                                         lies-requests
 *     POST _bulk_get, open_revs  another document or revision, ancestry, documents left out or added, attachments lies-documents
 *                                `rev`, `open_revs` or `latest` ignored; an error with status 200; multipart      lies-requests
 *                                repeated, shuffled, cut off                                  replication-random-lies, -unreadable
 *     GET doc?rev, multipart     other bytes                                                                      lies-documents
 *                                `rev` ignored, another digest, another form, an error with status 200            lies-requests
 *                                bodies that are none                                                             replication-odd-peers
 *     GET of an attachment       other bytes                                                                      lies-documents
 *                                `rev` ignored, an error with status 200                                          lies-requests
 *                                too short                                                                        replication-peers
 *     POST _revs_diff            ids, revisions and ancestors that are not those offered                          lies-target
 *                                an error with status 200, cut off                                                lies-requests
 *     POST _bulk_docs            refusals of something else, rows of other revisions                              lies-target
 *                                an error with status 200, rows that are none, `ok` false, cut off                lies-requests
 *     PUT doc, multipart         another revision                                                                 lies-target
 *                                an error with status 200, nothing, `ok` false, cut off                           lies-requests
 *     POST _ensure_full_commit   an error with status 200, nothing, cut off                                       lies-requests
 *     GET and PUT _local         sessions and sequences that are made up                                          lies-positions
 *                                an error with status 200, not stored                                             lies-requests
 *                                forms that are none                                                              replication-odd-peers
 *     GET {db}                   `update_seq` too early, too far, another instance each time                      lies-positions
 *                                an error with status 200                                                         lies-requests
 *
 * What no check can find is said in docs/http/replication.md#lies-that-no-check-finds.
 */
import { expect } from 'vitest';
import type { Core } from '../../src/core/core.ts';
import { type Direction, type FlakyEnds, sidesOf, useFlakyEnds } from '../support/replication/flaky-ends.ts';
import { type Fault, failure } from '../support/replication/flaky-peer.ts';
import { fillWithAllKinds } from '../support/replication/lying-peer.ts';
import { askJson, begin, pick, treesOf } from '../unit/replication/support.ts';

export interface LyingEnds {
  readonly ends: FlakyEnds;
  /** Copies in that direction, with the lie, and expects what must come of it. */
  expectOutcome(direction: Direction, fault: Fault, outcome: Outcome): Promise<void>;
}

/** Gives each test of a file two ends of its own. */
export function useLyingEnds(): LyingEnds {
  const ends = useFlakyEnds();
  return { ends, expectOutcome: (direction, fault, outcome) => expectOutcome(ends, direction, fault, outcome) };
}

export type Refused = readonly (readonly [id: string, rev: string, error: string])[];
/** All is copied but for what is refused; or the run fails with such a reason. */
export type Outcome = { readonly refused: Refused } | { readonly fails: RegExp };
export type Case = readonly [lie: string, fault: Fault, outcome: Outcome];

export const COPIED: Outcome = { refused: [] };
const noBulkGet: Fault = ({ path }) => (path.includes('/_bulk_get') ? failure(404) : undefined);
const noRelated: Fault = ({ request }) =>
  request.headers.get('accept') === 'multipart/related' ? failure(406) : undefined;
/** The ways in which documents are read: `_bulk_get` as JSON, one by one as JSON, and attachments in one answer or one by one. */
export const WAYS: readonly (readonly [string, readonly Fault[]])[] = [
  ['_bulk_get and multipart/related', []],
  ['_bulk_get and single attachments', [noRelated]],
  ['open_revs and multipart/related', [noBulkGet]],
  ['open_revs and single attachments', [noBulkGet, noRelated]],
];

/** No peer of these tests is silent; a busy machine may be, for longer than `PATIENCE` allows. */
export const quick = { retriesPerRequest: 2, checkpointIntervalMs: 5_000, connectionTimeoutMs: 30_000 };

async function expectOutcome(ends: FlakyEnds, direction: Direction, fault: Fault, outcome: Outcome): Promise<void> {
  const { source, target, replication } = sidesOf(ends, direction);
  await fillWithAllKinds(source);
  ends.peer.fault = fault;
  const attempt = begin(ends.host, { ...replication, ...quick });
  if ('fails' in outcome) {
    await expect(attempt.result).rejects.toMatchObject({ reason: expect.stringMatching(outcome.fails) });
    ends.peer.fault = undefined;
    expect(await recordedSeq(target)).toBe(0);
    return;
  }
  const { history } = await attempt.result;
  ends.peer.fault = undefined;
  expect(attempt.refused.map(({ id, rev, error }) => [id, rev, error]).sort()).toEqual([...outcome.refused].sort());
  expect(pick(history[0], 'doc_write_failures')).toBe(outcome.refused.length);
  expect(await leavesOf(target)).toEqual(without(await leavesOf(source), outcome.refused));
  expect(await recordedSeq(target)).toBeGreaterThan(0);
}

export async function recordedSeq(core: Core): Promise<number> {
  const [status, checkpoint] = await askJson(core, 'GET /db/_local/checkpoint');
  return status === 404 ? 0 : Number(pick(checkpoint, 'source_last_seq'));
}

/** Each leaf with its ancestry, content and attachments, by id and revision. */
export async function leavesOf(core: Core): Promise<Record<string, string>> {
  const leaves: Record<string, string> = {};
  for (const [id, tree] of Object.entries(await treesOf(core, 'db'))) {
    for (const leaf of Object(tree).leaves) leaves[`${id} ${Object(JSON.parse(leaf)).ok._rev}`] = leaf;
  }
  return leaves;
}

function without(leaves: Record<string, string>, refused: Refused): Record<string, string> {
  const names = new Set(refused.map(([id, rev]) => `${id} ${rev}`));
  return Object.fromEntries(Object.entries(leaves).filter(([name]) => !names.has(name)));
}
