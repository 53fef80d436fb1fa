/** Finds where a replication continues: up to where both ends agree that everything was copied. */
import type { HistoryEntry, Sequence } from '../contract.ts';
import type { Ends, PeerInfo } from '../peers/contract.ts';
import { earlierSequence, isBeyond } from '../peers/sequences.ts';
import type { CheckpointRecord } from './checkpoint-record.ts';

export interface CommonCheckpoint {
  readonly since: Sequence;
  /** The sessions up to there, newest first. */
  readonly history: readonly HistoryEntry[];
}

const NONE: CommonCheckpoint = { since: 0, history: [] };

/**
 * Returns the newest session that both ends know. A session that one of them lacks did not happen there: it was created again, or restored from an
 * older backup. If both know the same session, the restored one remembers less, and its value counts.
 */
export function commonCheckpoint(records: Ends<CheckpointRecord | undefined>, infos: Ends<PeerInfo>): CommonCheckpoint {
  const found = findCommon(records, infos);
  // A source that is not as far yet can't be the one of the checkpoint.
  return found === undefined || isBeyond(found.since, infos.source.updateSeq) ? NONE : found;
}

function findCommon(
  { source, target }: Ends<CheckpointRecord | undefined>,
  infos: Ends<PeerInfo>,
): CommonCheckpoint | undefined {
  if (source !== undefined && target !== undefined) return newestOfBoth(source, target);
  const alone = source ?? target;
  return alone !== undefined && mayStandAlone(alone, infos)
    ? { since: alone.lastSeq, history: historyOf(alone) }
    : undefined;
}

function newestOfBoth(source: CheckpointRecord, target: CheckpointRecord): CommonCheckpoint | undefined {
  const known = new Map(target.history.map((one) => [one.sessionId, one]));
  for (const [index, one] of source.history.entries()) {
    const other = known.get(one.sessionId);
    if (other === undefined) continue;
    const since = earlierSequence(one.recordedSeq, other.recordedSeq) ?? one.startSeq;
    return { since, history: historyOf(source).slice(index) };
  }
  return undefined;
}

/** One end accepted no checkpoint when the other's was written, and both are still the same databases. */
function mayStandAlone({ alone }: CheckpointRecord, { source, target }: Ends<PeerInfo>): boolean {
  if (alone === undefined || alone.source !== source.instance || alone.target !== target.instance) return false;
  return !isBeyond(alone.targetSeq, target.updateSeq);
}

function historyOf({ history }: CheckpointRecord): readonly HistoryEntry[] {
  return history.map(({ entry }) => entry);
}
