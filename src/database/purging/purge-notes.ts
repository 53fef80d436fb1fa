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
  /** Whether its number was once beyond the database's own: then it is that of another database. */
  readonly isTarget: boolean;
}

/** Revision, silence, when it was seen, and 1 for a target. */
type StoredPeer = readonly [string, number, number, number];

interface StoredNotes {
  readonly at: number;
  readonly done: number;
  readonly peers: Readonly<Record<string, StoredPeer>>;
}

/** The maximum number of peers that are remembered. Those beyond it are never forgotten, since no one knows for how long they are silent. */
export const MAX_PEERS = 10_000;

export const NO_NOTES: PurgeNotes = { at: 0, done: 0, peers: new Map() };

export function encodeNotes(at: number, done: number, peers: readonly PurgePeer[]): string {
  const noted = peers.slice(0, MAX_PEERS).map(({ id, rev, silent, seen, state }) => {
    return [id, [rev, silent, seen, state === 'target' ? 1 : 0]] as const;
  });
  return JSON.stringify({ at, done, peers: Object.fromEntries(noted) });
}

/** Decodes the text without checking it: it is what `encodeNotes` wrote. */
export function decodeNotes(text: string | undefined): PurgeNotes {
  if (text === undefined) return NO_NOTES;
  const { at, done, peers } = JSON.parse(text) as StoredNotes;
  const noted = Object.entries(peers).map(([id, [rev, silent, seen, target]]): [string, NotedPeer] => {
    return [id, { rev, silent, seen, isTarget: target === 1 }];
  });
  return { at, done, peers: new Map(noted) };
}
