/** Decides which tombstones may be purged: old ones that no known peer still needs (docs/http/databases.md#peers-of-a-database). */
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Database, LocalDocument, Snapshot } from '../store/contract.ts';
import { readCheckpoint } from './checkpoints.ts';
import type { PeerState, PurgePeer, PurgePlan } from './contract.ts';
import { MAX_PEERS, NO_NOTES, type NotedPeer, type PurgeNotes } from './purge-notes.ts';
import type { PurgeRules } from './purge-rules.ts';

/**
 * The most seconds of silence that pass from one run to the next. While the service does not run no peer can reach it, and a clock that was set
 * forward must not let all of them be forgotten at once.
 */
const MAX_SILENT_STEP = 86_400;

/** The most characters of ids of peers that are listed. */
const MAX_ID_CHARACTERS = 1_048_576;

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
  let untilSeq = oldSeq;
  let idCharacters = 0;
  let hasRoom = true;
  const timeSlice = new TimeSlice();
  const snapshot = database.snapshot();
  try {
    const younger = await snapshot.changeCount(oldSeq);
    for await (const locals of snapshot.locals({})) {
      for (const local of locals) {
        hasRoom &&= peers.length < MAX_PEERS && idCharacters + local.id.length <= MAX_ID_CHARACTERS;
        const moment: Moment = { rules, notes: hasRoom ? notes : NO_NOTES, now, oldSeq, younger };
        const peer = await peerOf(local, snapshot, moment);
        if (timeSlice.isDue) await timeSlice.rest();
        if (peer === undefined) continue;
        if (peer.state === 'behind') untilSeq = Math.min(untilSeq, peer.seq ?? untilSeq);
        if (!hasRoom) continue;
        idCharacters += peer.id.length;
        peers.push(peer);
      }
    }
  } finally {
    snapshot.release();
  }
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
  const targetSeq = side === 'unknown' ? targetSeqOf(seq, noted, snapshot) : undefined;
  const isOurs = side !== 'target' && targetSeq === undefined && seq !== undefined && seq <= snapshot.updateSeq;
  const needsOld = isOurs && seq < moment.oldSeq && (await snapshot.changeCount(seq)) > moment.younger;
  const wasForgotten = isSame && noted.silent >= moment.rules.peerTtl;
  const state = isOurs ? stateOf(id, { needsOld, silent, wasForgotten }, moment) : 'target';
  const seen = isSame ? Math.min(noted.seen, moment.now) : moment.now;
  const known = { id, rev, side, targetSeq, state, seen };
  return { ...known, seq: isOurs ? seq : undefined, silent: state === 'passed' ? 0 : silent };
}

/**
 * A number beyond the database's own is that of the replication's source, which is another one. It only grows: a lower number later means that
 * someone else wrote the first, to hide a peer.
 */
function targetSeqOf(
  seq: number | undefined,
  noted: NotedPeer | undefined,
  { updateSeq }: Snapshot,
): number | undefined {
  if (seq === undefined) return undefined;
  const isKnown = noted?.targetSeq !== undefined && seq >= noted.targetSeq;
  return isKnown || seq > updateSeq ? seq : undefined;
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
