/** What automatic purges remember of a database and its peers from one run to the next. The database keeps it as text. */
import type { PurgePeer } from './contract.ts';

export interface PurgeNotes {
  /** When the last run was, in seconds since the epoch. */
  readonly at: number;
  /** No tombstone up to this sequence number is left. */
  readonly done: number;
  readonly peers: ReadonlyMap<string, NotedPeer>;
}

export interface NotedPeer {
  readonly rev: string;
  readonly silent: number;
  readonly seen: number;
  /** See `PurgePeer`. */
  readonly targetSeq: number | undefined;
}

/** Revision, silence, when it was seen, and the number of a target; 0 for other peers. */
type StoredPeer = readonly [string, number, number, number];

interface StoredNotes {
  readonly at: number;
  readonly done: number;
  readonly peers: Readonly<Record<string, StoredPeer>>;
}

/**
 * The maximum number of peers that are listed and remembered. Those beyond it keep tombstones as the others do, but are never forgotten, since no one
 * knows for how long they are silent.
 */
export const MAX_PEERS = 10_000;

export const NO_NOTES: PurgeNotes = { at: 0, done: 0, peers: new Map() };

export function encodeNotes(at: number, done: number, peers: readonly PurgePeer[]): string {
  const noted = peers.map(({ id, rev, silent, seen, targetSeq = 0 }) => {
    return [id, [rev, silent, seen, targetSeq]] as const;
  });
  return JSON.stringify({ at, done, peers: Object.fromEntries(noted) });
}

/** Decodes the text without checking it: it is what `encodeNotes` wrote. */
export function decodeNotes(text: string | undefined): PurgeNotes {
  if (text === undefined) return NO_NOTES;
  const { at, done, peers } = JSON.parse(text) as StoredNotes;
  const noted = Object.entries(peers).map(([id, [rev, silent, seen, target]]): [string, NotedPeer] => {
    return [id, { rev, silent, seen, targetSeq: target === 0 ? undefined : target }];
  });
  return { at, done, peers: new Map(noted) };
}
