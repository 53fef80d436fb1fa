/** One automatic purge of one database, in small steps (docs/http/databases.md#automatic-purge). */
import { isDatabaseError } from '../../base/errors/database-error.ts';
import type { Clock } from '../../base/shared/clock.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Log } from '../../base/system/contract.ts';
import type { DocId } from '../documents/contract.ts';
import type { Database } from '../store/contract.ts';
import type { PurgePeer, PurgePlan } from './contract.ts';
import { decodeNotes, encodeNotes, type PurgeNotes } from './purge-notes.ts';
import { planPurge } from './purge-plan.ts';
import type { PurgeRules } from './purge-rules.ts';

export interface PurgeRun {
  readonly rules: PurgeRules;
  /** The most documents that one commit removes. */
  readonly batchSize: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the run must end soon. */
  isEnded(): boolean;
}

export function nowSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1_000);
}

export interface PurgeResult {
  /** The number of documents that were purged. */
  readonly purged: number;
  /** Whether nothing is left that may be purged; false if the end of the service or a compaction cut the run off. */
  readonly isComplete: boolean;
}

/** Purges the old tombstones that no known peer needs. A crash in the middle loses nothing: what was not purged is found by the next run. */
export async function purgeOld(database: Database, run: PurgeRun): Promise<PurgeResult> {
  const now = nowSeconds(run.clock);
  const notes = decodeNotes(await database.purgeNotes());
  const plan = await planPurge(database, run.rules, notes, now);
  const { untilSeq, peers } = await forgetPeers(database, plan, notes, run);
  const { purged, done } = await purgeUpTo(database, { from: notes.done, untilSeq }, run);
  if (purged > 0) run.log.info(`${database.name}: purged ${purged} deleted documents, up to sequence number ${done}`);
  const isNews = done !== notes.done || peers.some((peer) => isNewsOf(peer, notes));
  if (isNews || peers.length < notes.peers.size) await database.setPurgeNotes(encodeNotes(now, done, peers));
  return { purged, isComplete: done >= untilSeq };
}

function isNewsOf({ id, rev, state }: PurgePeer, { peers }: PurgeNotes): boolean {
  return state === 'behind' || state === 'forgotten' || peers.get(id)?.rev !== rev;
}

interface Remaining {
  /** Up to where tombstones may be purged. */
  readonly untilSeq: number;
  /** The peers that still have a checkpoint. */
  readonly peers: readonly PurgePeer[];
}

/**
 * Removes the checkpoints of peers that are forgotten, so that they begin again if they come back: with the old checkpoint they would miss
 * what is purged, and not know it.
 */
async function forgetPeers(database: Database, plan: PurgePlan, notes: PurgeNotes, run: PurgeRun): Promise<Remaining> {
  let { untilSeq } = plan;
  const peers: PurgePeer[] = [];
  for (const peer of plan.peers) {
    const { id, state, side, seq = 0 } = peer;
    const isForgotten = state === 'forgotten';
    const isRemoved = isForgotten && side === 'source' && (await removeCheckpoint(database, peer));
    if (!isRemoved) peers.push(peer);
    if (isForgotten && side === 'source' && !isRemoved) untilSeq = Math.min(untilSeq, seq);
    const wasForgotten = (notes.peers.get(id)?.silent ?? 0) >= plan.peerTtl;
    if (isRemoved || (isForgotten && side !== 'source' && !wasForgotten))
      run.log.info(forgottenText(database.name, peer));
  }
  return { untilSeq, peers };
}

/** Returns whether it was removed: otherwise the peer has just written it. */
async function removeCheckpoint(database: Database, { id, rev }: PurgePeer): Promise<boolean> {
  try {
    await database.writeLocal(id, rev, undefined, { durability: 'relaxed' });
    return true;
  } catch (error) {
    if (isDatabaseError(error, 'conflict')) return false;
    throw error;
  }
}

function forgottenText(name: string, { id, seq = 0, side, silent }: PurgePeer): string {
  const days = Math.floor(silent / 86_400);
  const next =
    side === 'source'
      ? 'Its checkpoint was removed, so it begins again if it comes back.'
      : 'Its checkpoint stays, since it may be that of a replication into this database.';
  return `${name}: the replication of ${id}, at sequence number ${seq}, was silent for ${days} days and is forgotten. ${next}`;
}

interface PurgeRange {
  /** Changes up to here are not looked at. */
  readonly from: number;
  readonly untilSeq: number;
}

async function purgeUpTo(
  database: Database,
  { from, untilSeq }: PurgeRange,
  { batchSize, isEnded }: PurgeRun,
): Promise<{ readonly purged: number; readonly done: number }> {
  let [purged, done] = [0, from];
  if (from >= untilSeq) return { purged, done };
  let ids: DocId[] = [];
  const purge = async (seq: number) => {
    if (ids.length > 0) purged += (await database.purgeTombstones(ids, untilSeq)).purged.size;
    done = seq;
    ids = [];
  };
  const snapshot = database.snapshot();
  const timeSlice = new TimeSlice();
  try {
    for await (const rows of snapshot.changes({ since: from })) {
      for (const { seq, id, deleted } of rows) {
        // What is left is purged by the next run.
        if (isEnded() || database.compactRunning) return { purged, done };
        if (seq > untilSeq) break;
        if (deleted) ids.push(id);
        if (ids.length >= batchSize) await purge(seq);
      }
      if ((rows.at(-1)?.seq ?? 0) > untilSeq) break;
      if (timeSlice.isDue) await timeSlice.rest();
    }
  } finally {
    snapshot.release();
  }
  if (!database.compactRunning) await purge(untilSeq);
  return { purged, done };
}
