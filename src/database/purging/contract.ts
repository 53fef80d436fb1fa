/** Automatic purges (docs/http/databases.md#automatic-purge), as the layers above see them. */
import type { DocId } from '../documents/contract.ts';
import type { Database } from '../store/contract.ts';

export interface AutoPurge {
  /** Must be called when the object of `_auto_purge` of a database was set: keeps in mind which databases have a period, and purges soon. */
  changed(database: string): Promise<void>;
  /** Returns what a purge at this moment would go by; changes nothing. */
  plan(database: Database): Promise<PurgePlan>;
}

/** What a purge goes by. */
export interface PurgePlan {
  /** Seconds for which tombstones are kept; infinite if they are kept for good. */
  readonly ttl: number;
  /** Seconds of silence after which a peer is forgotten; may be infinite. */
  readonly peerTtl: number;
  /** Changes up to this sequence number are older than `ttl`. */
  readonly oldSeq: number;
  /** Tombstones up to this sequence number may be purged: those that are old, and that no known peer still needs. */
  readonly untilSeq: number;
  /** In the order of their ids; at most the first 10,000. `untilSeq` heeds all of them. */
  readonly peers: readonly PurgePeer[];
}

/**
 * - `passed`: its checkpoint is at or after `oldSeq`, so it has all old tombstones
 * - `behind`: it may need old tombstones, which therefore stay
 * - `forgotten`: it was behind and silent for too long
 * - `ignored`: the database's admins said that it does not count
 * - `target`: the document belongs to a replication into this database
 */
export type PeerState = 'passed' | 'behind' | 'forgotten' | 'ignored' | 'target';

/** A replication that keeps a checkpoint in the database. */
export interface PurgePeer {
  /** The `_local` document of the checkpoint. */
  readonly id: DocId;
  /** Its revision. */
  readonly rev: string;
  /** Which end of the replication this database is, if the document says so. */
  readonly side: 'source' | 'target' | 'unknown';
  /** How far it has read; undefined if the number is not one of this database. */
  readonly seq: number | undefined;
  /** Its number, if that was once beyond the database's own and has only grown since: then it is that of another database. */
  readonly targetSeq: number | undefined;
  readonly state: PeerState;
  /** When a purge first saw this revision of the checkpoint, in seconds since the epoch. */
  readonly seen: number;
  /** Seconds of silence while it was behind, as far as they count. */
  readonly silent: number;
}
