import type { DocId, RevId } from '../documents/contract.ts';
import { DatabaseError } from '../errors/database-error.ts';
import type { JournalRecord } from '../storage/page-store.ts';
import type { BodyLocation } from './contract.ts';

/**
 * Redo records: what a commit changed, not what came of it. Text: one line of JSON, then one line for each body that
 * travels in the record (bodies hold no newline, since white space outside strings is cut out of them).
 */
export interface JournalEntry {
  readonly revisions: readonly RevisionChange[];
  readonly locals: readonly LocalChange[];
  readonly purges: readonly PurgeChange[];
  /** Pages that came with the commit. */
  readonly pages: readonly number[];
  /** The update sequence after the commit. */
  readonly updateSeq: number;
}

/** A revision with as much of its ancestry as it takes to place it. */
export interface RevisionChange {
  readonly id: DocId;
  readonly seq: number;
  readonly start: number;
  readonly ids: readonly string[];
  readonly deleted: boolean;
  /** Where the body lies, or the body itself. */
  readonly body: BodyLocation | string;
}

/** `value` undefined removes the key. */
export interface LocalChange {
  readonly key: string;
  readonly value: string | undefined;
}

export interface PurgeChange {
  readonly id: DocId;
  readonly seq: number;
  readonly purgeSeq: number;
  readonly revs: readonly RevId[];
}

const INLINE = -1;

type RevisionTuple = [DocId, number, number, readonly string[], 0 | 1, number, number, number];

interface StoredEntry {
  r?: RevisionTuple[];
  l?: [string, string | null][];
  x?: [DocId, number, number, readonly RevId[]][];
  p?: readonly number[];
  u: number;
}

export function encodeJournalEntry(entry: JournalEntry): string {
  const bodies: string[] = [];
  const stored: StoredEntry = { u: entry.updateSeq };
  if (entry.revisions.length > 0) stored.r = entry.revisions.map((change) => encodeRevision(change, bodies));
  if (entry.locals.length > 0) stored.l = entry.locals.map(({ key, value }) => [key, value ?? null]);
  if (entry.purges.length > 0) stored.x = entry.purges.map(({ id, seq, purgeSeq, revs }) => [id, seq, purgeSeq, revs]);
  if (entry.pages.length > 0) stored.p = entry.pages;
  const line = JSON.stringify(stored);
  return bodies.length === 0 ? line : `${line}\n${bodies.join('\n')}`;
}

function encodeRevision(change: RevisionChange, bodies: string[]): RevisionTuple {
  const { id, seq, start, ids, deleted, body } = change;
  const flag = deleted ? 1 : 0;
  if (typeof body !== 'string') return [id, seq, start, ids, flag, body.page, body.offset, body.length];
  bodies.push(body);
  return [id, seq, start, ids, flag, INLINE, 0, 0];
}

export function decodeJournalEntry(record: JournalRecord): JournalEntry {
  const [line = '', ...bodies] = record.text.split('\n');
  const stored = parseLine(line, record.number);
  let inline = 0;
  return {
    revisions: (stored.r ?? []).map(([id, seq, start, ids, deleted, page, offset, length]) => ({
      id,
      seq,
      start,
      ids,
      deleted: deleted === 1,
      body: page === INLINE ? (bodies[inline++] ?? '') : { page, offset, length },
    })),
    locals: (stored.l ?? []).map(([key, value]) => ({ key, value: value ?? undefined })),
    purges: (stored.x ?? []).map(([id, seq, purgeSeq, revs]) => ({ id, seq, purgeSeq, revs })),
    pages: stored.p ?? [],
    updateSeq: stored.u,
  };
}

function parseLine(line: string, number: number): StoredEntry {
  try {
    return JSON.parse(line) as StoredEntry;
  } catch (cause) {
    throw new DatabaseError('storage_corrupt', `Journal record ${number} can't be read. Restore from a backup.`, {
      cause,
    });
  }
}
