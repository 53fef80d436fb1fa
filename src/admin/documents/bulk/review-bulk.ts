/** What a bulk change will do, before it is done: how many of how many documents, whom it reaches, what stays, and the request. */
import { formatBytes, formatCount, formatMany } from '../../components/format.ts';
import { type Change, review } from '../../review/review.tsx';
import { base, type JsonObject, pathOf } from '../../server/client.ts';
import { infoOf } from '../../server/databases.ts';
import { type Peer, peerSentence, peersOf } from '../../server/peers.ts';
import { listReplications } from '../../server/replications.ts';
import type { ListSettings } from '../list-state.ts';
import { NONE } from '../selection.ts';
import type { List } from '../use-list.ts';
import { readByIds } from './bulk-server.ts';
import { type BulkChange, changed, titleOf } from './change.ts';
import { MAX_JOURNAL_CHARACTERS } from './journal.ts';
import { MAX_DOCUMENTS, type Target } from './run.ts';
import { markUndone, type Run, startRun } from './runs.ts';
import { type Targets, targetsOf } from './targets.ts';
import { runTask } from './task.ts';

/** The name of the switch in the bar of the selection. */
export const DESIGN_SWITCH = 'Also change design documents';

/** Documents that the review shows, and those that are read to find some that change. */
const SAMPLE = 3;
const LOOKED_AT = 20;
/** From so many on, the database's name has to be typed before they are deleted. */
const MANY = 1_000;

interface BulkWish {
  readonly database: string;
  readonly list: List;
  readonly settings: ListSettings;
  readonly change: BulkChange;
}

export function reviewBulk({ database, list, settings, change }: BulkWish): Promise<void> {
  return runTask(database, async (tell, signal) => {
    const [selection, withDesign] = [settings.selection.value, settings.changesDesign.value];
    const found = await targetsOf({ database, source: list.source, selection, withDesign }, tell, signal);
    const effects = [...exceptionsOf(found), ...effectsOf(change)];
    await showReview({ database, change, targets: found.targets, effects }, signal, () => {
      settings.selection.value = NONE;
    });
  });
}

/** Which of the selected documents are not changed. Fails if none is. */
function exceptionsOf({ targets, gone, leftOut }: Targets): readonly string[] {
  if (targets.length === 0 && leftOut > 0) {
    throw new Error(`Only design documents are selected, and they are left out: switch on “${DESIGN_SWITCH}”.`);
  }
  if (targets.length === 0) throw new Error('None of the selected documents is there any more.');
  return [
    ...(gone === 0
      ? []
      : [`${formatMany(gone, 'selected document is', 'selected documents are')} not there any more.`]),
    ...(leftOut === 0
      ? []
      : [`${formatMany(leftOut, 'design document is', 'design documents are')} left out: “${DESIGN_SWITCH}” is off.`]),
  ];
}

/** Shows the reverse of a bulk change: the documents as they were, on the revisions that the change made. */
export function reviewUndo(run: Run): Promise<void> {
  const { entries, leftOut } = run.journal;
  return runTask(run.database, async (_, signal) => {
    const targets = [...entries].map(([id, { rev }]) => ({ id, rev }));
    const bodies = new Map([...entries].map(([id, { before }]) => [id, before]));
    const effects = [
      'Each document gets its former content back, as a new revision. One that was changed since is refused, and stays as it is.',
      ...(leftOut === 0
        ? []
        : [
            `${formatMany(leftOut, 'document')} can’t be undone: the page keeps ${formatBytes(MAX_JOURNAL_CHARACTERS)} of former content.`,
          ]),
    ];
    const change: BulkChange = { kind: 'restore', bodies };
    const title = `Undo “${run.title}”`;
    await showReview({ database: run.database, change, targets, effects, title }, signal, (number) =>
      markUndone(run, number),
    );
  });
}

interface Prepared {
  readonly database: string;
  readonly change: BulkChange;
  readonly targets: readonly Target[];
  readonly effects: readonly string[];
  readonly title?: string;
}

async function showReview(prepared: Prepared, signal: AbortSignal, begun: (number: number) => void): Promise<void> {
  const { database, change, targets, effects } = prepared;
  const [{ documents }, peers, sample] = await Promise.all([
    infoOf(database, signal),
    readPeers(database, signal),
    readSample(prepared, signal),
  ]);
  const title = prepared.title ?? `${titleOf(change)} ${formatMany(targets.length, 'document')}`;
  const isLarge = change.kind === 'delete' && targets.length >= MANY;
  review({
    title,
    effects: [
      radius(targets.length, documents, database),
      ...effects,
      peerSentence(peers),
      batchSentence(targets.length, sample.docs.length),
      ...(sample.refused === undefined ? [] : [`Of the first documents, one can’t be changed: ${sample.refused}`]),
    ],
    changes: sample.changes,
    requests: [{ method: 'POST', path: pathOf(database, '_bulk_docs'), json: JSON.stringify({ docs: sample.docs }) }],
    ...(isLarge && { typedName: database }),
    action: 'Apply',
    apply: async () => {
      begun(startRun({ database, title, change, targets }));
    },
  });
}

function radius(count: number, all: number | undefined, database: string): string {
  const of = all === undefined ? '' : ` of ${formatCount(all)}`;
  return `${formatCount(count)}${of} ${count === 1 && all === undefined ? 'document' : 'documents'} in ${database}.`;
}

function effectsOf({ kind }: BulkChange): readonly string[] {
  const undo = `It can be undone until this page is closed: the page keeps up to ${formatBytes(MAX_JOURNAL_CHARACTERS)} of former content.`;
  const since = 'A document that somebody changes in the meantime is refused, and stays as it is.';
  if (kind !== 'delete') {
    return ['Each document that this alters gets a new revision; the others are not written.', since, undo];
  }
  return [
    'Each document gets a tombstone, which stays and replicates. Of a document in conflict only the winner is deleted: the next revision takes its place.',
    since,
    undo,
  ];
}

function batchSentence(count: number, shown: number): string {
  const requests = `requests of at most ${formatCount(MAX_DOCUMENTS)} documents`;
  if (shown >= count) return 'The request that will run:';
  return `It runs in ${requests}, which can be stopped between two of them. Below, the request has ${formatMany(shown, 'document')} only.`;
}

/** Undefined if the user may not see the replications, or the server lists none. */
async function readPeers(database: string, signal: AbortSignal): Promise<readonly Peer[] | undefined> {
  try {
    const replications = await listReplications(signal);
    return replications && peersOf(database, replications, `${base.host}${base.pathname}`);
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}

/** Some documents that the change alters. */
async function readSample({ database, change, targets }: Prepared, signal: AbortSignal) {
  const ids = targets.slice(0, LOOKED_AT).map(({ id }) => id);
  const { documents } = await readByIds(database, ids, true, signal);
  const docs: JsonObject[] = [];
  const changes: Change[] = [];
  let refused: string | undefined;
  for (const [index, current] of documents.entries()) {
    const isStale = current.rev !== targets[index]?.rev;
    const outcome = isStale ? { refused: 'Somebody has changed it since.' } : changed(current, change);
    if ('refused' in outcome) refused ??= `${current.id}: ${outcome.refused}`;
    if (!('write' in outcome) || docs.length === SAMPLE) continue;
    docs.push(outcome.write);
    const after = outcome.write['_deleted'] === true ? undefined : textOf(outcome.write);
    changes.push({ name: current.id, before: current.doc && textOf(current.doc), after });
  }
  return { docs, changes, refused };
}

function textOf({ _rev, ...members }: JsonObject): string {
  return JSON.stringify(members, null, 2);
}
