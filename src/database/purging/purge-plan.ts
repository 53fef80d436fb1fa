/** Decides which tombstones may be purged: old ones that no known peer still needs (docs/http/databases.md#peers-of-a-database). */
import type { Database, LocalDocument, Snapshot } from '../store/contract.ts';
import { readCheckpoint } from './checkpoints.ts';
import type { PeerState, PurgePeer, PurgePlan } from './contract.ts';
import type { NotedPeer, PurgeNotes } from './purge-notes.ts';
import type { PurgeRules } from './purge-rules.ts';

/**
 * The most seconds of silence that pass from one run to the next. While the service does not run no peer can reach it, and a clock that was set
 * forward must not let all of them be forgotten at once.
 */
const MAX_SILENT_STEP = 86_400;

/** `now`: seconds since the epoch. */
export async function planPurge(
  database: Database,
  rules: PurgeRules,
  notes: PurgeNotes,
  now: number,
): Promise<PurgePlan> {
  const { ttl, peerTtl } = rules;
  const oldSeq = Number.isFinite(ttl) ? database.seqAt(now - ttl) : 0;
  const peers: PurgePeer[] = [];
  const snapshot = database.snapshot();
  try {
    const moment: Moment = { rules, notes, now, oldSeq, younger: await snapshot.changeCount(oldSeq) };
    for await (const locals of snapshot.locals({})) {
      for (const local of locals) {
        const peer = await peerOf(local, snapshot, moment);
        if (peer !== undefined) peers.push(peer);
      }
    }
  } finally {
    snapshot.release();
  }
  const needed = peers.flatMap(({ state, seq }) => (state === 'behind' && seq !== undefined ? [seq] : []));
  const untilSeq = needed.reduce((least, seq) => Math.min(least, seq), oldSeq);
  return { ttl, peerTtl, oldSeq, untilSeq, peers };
}

interface Moment {
  readonly rules: PurgeRules;
  readonly notes: PurgeNotes;
  readonly now: number;
  readonly oldSeq: number;
  /** The number of changes after `oldSeq`. */
  readonly younger: number;
}

async function peerOf(local: LocalDocument, snapshot: Snapshot, moment: Moment): Promise<PurgePeer | undefined> {
  const checkpoint = await readCheckpoint(local.body);
  if (checkpoint === undefined) return undefined;
  const { id, rev } = local;
  const { side, seq } = checkpoint;
  const noted = moment.notes.peers.get(id);
  const isSame = noted?.rev === rev;
  const silent = isSame ? silenceOf(noted, moment) : 0;
  const isTarget = side === 'target' || (side === 'unknown' && noted?.isTarget === true);
  // A number beyond the database's own is that of the replication's source, which is another one.
  const isOurs = !isTarget && seq !== undefined && seq <= snapshot.updateSeq;
  const needsOld = isOurs && seq < moment.oldSeq && (await snapshot.changeCount(seq)) > moment.younger;
  const wasForgotten = isSame && noted.silent >= moment.rules.peerTtl;
  const state = isOurs ? stateOf(id, { needsOld, silent, wasForgotten }, moment) : 'target';
  const seen = isSame ? Math.min(noted.seen, moment.now) : moment.now;
  return { id, rev, side, seq: isOurs ? seq : undefined, state, seen, silent: state === 'passed' ? 0 : silent };
}

/** A clock that was set back adds no silence. */
function silenceOf({ silent }: NotedPeer, { notes, now }: Moment): number {
  return silent + Math.min(Math.max(0, now - notes.at), MAX_SILENT_STEP);
}

interface Standing {
  /** Whether it has not read all changes that are old. If nothing changed after its checkpoint, there is nothing that it would write. */
  readonly needsOld: boolean;
  readonly silent: number;
  /** Whether it was forgotten, and has not moved since: then it may have missed what was purged. */
  readonly wasForgotten: boolean;
}

function stateOf(id: string, { needsOld, silent, wasForgotten }: Standing, { rules }: Moment): PeerState {
  if (rules.ignored.has(id)) return 'ignored';
  if (wasForgotten) return 'forgotten';
  if (!needsOld) return 'passed';
  return silent >= rules.peerTtl ? 'forgotten' : 'behind';
}
