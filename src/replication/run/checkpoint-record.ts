/**
 * The document in which each end stores how far a replication got, in the form that foreign replicators read; and where a replication continues:
 * up to where both ends agree that everything was copied.
 */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../base/json/portable-values.ts';
import type { HistoryEntry, RefusedDocument, Sequence } from '../contract.ts';
import type { Ends, PeerInfo, StoredCheckpoint } from '../peers/contract.ts';
import { earlierSequence, isBeyond, isSequence } from '../peers/sequences.ts';
import { ledgerLine, storableText } from './replication-stats.ts';

export const ID_VERSION = 3;
const MAX_ENTRIES = 50;
/** Refused documents that an earlier session's entry still names. */
const REFUSED_OF_EARLIER = 10;
/** Limits for a stored entry, which may be another peer's: refused documents, and characters of a text. */
const MAX_REFUSED = 100;
const MAX_TEXT_LENGTH = 200;

/** A stored entry, with what is needed to compare it. */
export interface StoredEntry {
  readonly sessionId: string;
  readonly recordedSeq: Sequence;
  readonly startSeq: Sequence;
  readonly entry: HistoryEntry;
}

export interface CheckpointRecord {
  readonly sessionId: string;
  readonly lastSeq: Sequence;
  /** Newest first. */
  readonly history: readonly StoredEntry[];
  /** If the other end accepts no checkpoints: the databases that this one belongs to. An addition of our own. */
  readonly alone: OneSidedCheckpoint | undefined;
}

/** Shows that the two databases are still those of a checkpoint. */
export interface OneSidedCheckpoint {
  readonly source: string;
  readonly target: string;
  readonly targetSeq: Sequence;
}

/** Undefined if the document is not a checkpoint. */
export function readRecord(stored: StoredCheckpoint | undefined): CheckpointRecord | undefined {
  if (stored === undefined) return undefined;
  const { value } = stored;
  const sessionId = ownMember(value, 'session_id');
  const lastSeq = toSequence(ownMember(value, 'source_last_seq'));
  const history = ownMember(value, 'history');
  if (!isSessionId(sessionId) || lastSeq === undefined || !Array.isArray(history)) return undefined;
  const entries = history.slice(0, MAX_ENTRIES).flatMap(readEntry);
  return { sessionId, lastSeq, history: entries, alone: readAlone(ownMember(value, 'alone')) };
}

/** Returns the history without what peers, and the databases' documents, may have put into it: only the newest session, without document names. */
export function withoutDetails(history: readonly HistoryEntry[]): readonly HistoryEntry[] {
  return history.slice(0, 1).map(({ refused: _, ...entry }) => entry);
}

/**
 * Returns the document's members as JSON text. `side`: the end that stores it, an addition of our own: the source can tell by it whose number the
 * sequence is (docs/http/databases.md#peers-of-a-database).
 */
export function recordText(
  history: readonly HistoryEntry[],
  alone: OneSidedCheckpoint | undefined,
  side: keyof Ends<unknown>,
): string {
  const [newest] = history;
  return JSON.stringify({
    side,
    session_id: newest?.session_id,
    source_last_seq: newest?.recorded_seq,
    replication_id_version: ID_VERSION,
    history,
    ...(alone === undefined
      ? {}
      : { alone: { source: alone.source, target: alone.target, target_seq: alone.targetSeq } }),
  });
}

/** Returns the members of a record that no session has completed: nothing is copied yet. */
export function emptyRecordText(sessionId: string, side: keyof Ends<unknown>): string {
  return JSON.stringify({
    ...{ side, session_id: sessionId, source_last_seq: 0 },
    ...{ replication_id_version: ID_VERSION, history: [] },
  });
}

/** Whether there is no document, or one of `emptyRecordText`. */
export function isWithoutSession(stored: StoredCheckpoint | undefined): boolean {
  if (stored?.rev === undefined) return true;
  const record = readRecord(stored);
  return record?.lastSeq === 0 && record.history.length === 0;
}

/** Returns the history with a new entry at its head. */
export function withEntry(entry: HistoryEntry, earlier: readonly HistoryEntry[]): readonly HistoryEntry[] {
  return [entry, ...earlier.slice(0, MAX_ENTRIES - 1).map(shortened)];
}

function shortened(entry: HistoryEntry): HistoryEntry {
  const { refused = [] } = entry;
  return refused.length <= REFUSED_OF_EARLIER ? entry : { ...entry, refused: refused.slice(0, REFUSED_OF_EARLIER) };
}

function readEntry(value: unknown): readonly StoredEntry[] {
  if (!isObject(value)) return [];
  const sessionId = ownMember(value, 'session_id');
  const recordedSeq = toSequence(ownMember(value, 'recorded_seq'));
  if (!isSessionId(sessionId) || recordedSeq === undefined) return [];
  const startSeq = toSequence(ownMember(value, 'start_last_seq')) ?? 0;
  return [{ sessionId, recordedSeq, startSeq, entry: toHistoryEntry(value, sessionId, recordedSeq, startSeq) }];
}

function toHistoryEntry(value: JsonObject, sessionId: string, recordedSeq: Sequence, startSeq: Sequence): HistoryEntry {
  const count = (name: string) => countAt(value, name);
  const text = (name: string) => textAt(value, name, MAX_TEXT_LENGTH);
  const refused = ownMember(value, 'refused');
  return {
    session_id: sessionId,
    start_time: text('start_time'),
    end_time: text('end_time'),
    start_last_seq: startSeq,
    end_last_seq: toSequence(ownMember(value, 'end_last_seq')) ?? recordedSeq,
    recorded_seq: recordedSeq,
    missing_checked: count('missing_checked'),
    missing_found: count('missing_found'),
    docs_read: count('docs_read'),
    docs_written: count('docs_written'),
    doc_write_failures: count('doc_write_failures'),
    ...(Array.isArray(refused) ? { refused: refused.slice(0, MAX_REFUSED).flatMap(readRefused) } : {}),
  };
}

function readRefused(value: unknown): readonly RefusedDocument[] {
  if (!isObject(value)) return [];
  const text = (name: string) => textAt(value, name);
  return [ledgerLine({ id: text('id'), rev: text('rev'), error: text('error'), reason: text('reason') })];
}

/** Values that are not strings count as missing. */
function textAt(value: JsonObject, name: string, longest = Number.POSITIVE_INFINITY): string {
  const text = ownMember(value, name);
  return typeof text === 'string' ? storableText(text, longest) : '';
}

function countAt(value: JsonObject, name: string): number {
  const count = ownMember(value, name);
  return typeof count === 'number' && Number.isSafeInteger(count) ? count : 0;
}

function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_TEXT_LENGTH && !hasLoneSurrogate(value);
}

function readAlone(value: unknown): OneSidedCheckpoint | undefined {
  if (!isObject(value)) return undefined;
  const { source, target, target_seq: seq } = value;
  const targetSeq = toSequence(seq);
  if (typeof source !== 'string' || typeof target !== 'string' || targetSeq === undefined) return undefined;
  return { source, target, targetSeq };
}

function toSequence(value: unknown): Sequence | undefined {
  return isSequence(value) ? value : undefined;
}

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
