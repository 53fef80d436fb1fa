/** Reads and writes the checkpoints of one session at both ends. */
import type { Log } from '../../base/system/contract.ts';
import type { HistoryEntry, Sequence } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import type { Ends, PeerInfo } from '../peers/contract.ts';
import { isEarlierRevision } from '../peers/identifiers.ts';
import type { Peer } from '../peers/peer.ts';
import {
  type CommonCheckpoint,
  commonCheckpoint,
  emptyRecordText,
  isWithoutSession,
  type OneSidedCheckpoint,
  readRecord,
  recordText,
  withoutDetails,
} from './checkpoint-record.ts';

/** An end is no longer the database with which the session began: it was created again, or has lost something. */
export class EndChanged extends Error {
  constructor(name: string) {
    super(`${name} was replaced by another database, or has lost data`);
    this.name = 'EndChanged';
  }
}

export interface CheckpointsOptions {
  readonly id: string;
  /** Of the checkpoints that count if there are none with that id; they are only read. */
  readonly formerId?: string | undefined;
  readonly peers: Ends<Peer>;
  readonly infos: Ends<PeerInfo>;
  readonly log: Log;
}

type Side = keyof Ends<unknown>;

export class Checkpoints {
  readonly #options: CheckpointsOptions;
  /** Ends that did not take the last checkpoint, and whether they may take the next one: there may be space again. */
  readonly #refusing: Map<Side, 'for now' | 'for good'>;
  /** The last known revision of each end's checkpoint. */
  readonly #known: Map<Side, string>;
  /** Whether the source accepts requests to make everything durable. */
  #sourceCommits = true;

  /** `former`: of the same session. */
  constructor(options: CheckpointsOptions, former?: Checkpoints) {
    this.#options = options;
    this.#refusing = former === undefined ? new Map() : former.#refusing;
    this.#known = former === undefined ? new Map() : former.#known;
  }

  /** For the same session with other peers. */
  withPeers(peers: Ends<Peer>): Checkpoints {
    return new Checkpoints({ ...this.#options, peers }, this);
  }

  async find(): Promise<CommonCheckpoint> {
    const { id, formerId, infos } = this.#options;
    const { source, target } = await this.#read(id);
    if (source?.rev !== undefined) this.#known.set('source', source.rev);
    if (target?.rev !== undefined) this.#known.set('target', target.rev);
    const isNew = isWithoutSession(source) && isWithoutSession(target);
    const found = isNew && formerId !== undefined ? await this.#read(formerId) : { source, target };
    const records = { source: readRecord(found.source), target: readRecord(found.target) };
    // One that the source never took says so itself.
    if (found.source === undefined && records.target?.alone === undefined && records.target !== undefined)
      this.#noteForgotten();
    return commonCheckpoint(records, infos);
  }

  async #read(id: string) {
    const { peers } = this.#options;
    const [source, target] = await Promise.all([peers.source.readCheckpoint(id), peers.target.readCheckpoint(id)]);
    return { source, target };
  }

  /** The source may have purged documents whose deletion the target has not seen (docs/http/databases.md#peers-of-a-database). */
  #noteForgotten(): void {
    const { peers, log } = this.#options;
    const { source, target } = peers;
    log.info(
      `replication: ${source.name} no longer has the checkpoint of this replication, which begins again; documents that were deleted and purged there meanwhile stay in ${target.name}`,
    );
  }

  /** Makes both ends durable. Fails with `EndChanged`. */
  async commit(): Promise<void> {
    const { peers, infos } = this.#options;
    const [source, target] = await Promise.all([this.#commitSource(), peers.target.commit()]);
    if (differs(source, infos.source.instance)) throw new EndChanged(peers.source.name);
    if (differs(target, infos.target.instance)) throw new EndChanged(peers.target.name);
  }

  /** Fails with `EndChanged` if an end is another database than before, or lacks a checkpoint that it had; with `db_not_found` if it is gone. */
  async check(side: Side): Promise<void> {
    const { id, peers } = this.#options;
    await this.#checkInstance(side);
    const known = this.#known.get(side);
    if (known === undefined) return;
    const stored = await peers[side].readCheckpoint(id);
    if (isEarlierRevision(stored?.rev, known)) throw new EndChanged(peers[side].name);
  }

  /** Writes the target first: it has what the source's checkpoint says. Fails with `EndChanged`. */
  async write(history: readonly HistoryEntry[]): Promise<void> {
    const { peers } = this.#options;
    const targetSeq = await this.#targetSeqIfAlone();
    await this.#writeTo('target', history, this.#oneSidedCheckpoint('source', targetSeq));
    // The target's refusal may be new.
    const seq = targetSeq ?? (await this.#targetSeqIfAlone());
    const refused = this.#refusing.has('source');
    await this.#writeTo('source', history, this.#oneSidedCheckpoint('target', seq));
    const refuses = this.#refusing.has('source');
    // What the target's checkpoint says of the source is no longer so.
    if (refuses === refused) return;
    const newSeq = refuses ? await this.#seqOf(peers.target) : undefined;
    await this.#writeTo('target', history, this.#oneSidedCheckpoint('source', newSeq));
  }

  async #targetSeqIfAlone(): Promise<Sequence | undefined> {
    return this.#refusing.size === 1 ? this.#seqOf(this.#options.peers.target) : undefined;
  }

  async #seqOf(peer: Peer): Promise<Sequence | undefined> {
    return (await infoOf(peer)).updateSeq;
  }

  #oneSidedCheckpoint(other: Side, targetSeq: Sequence | undefined): OneSidedCheckpoint | undefined {
    const { source, target } = this.#options.infos;
    if (!this.#refusing.has(other) || targetSeq === undefined) return undefined;
    if (source.instance === undefined || target.instance === undefined) return undefined;
    return { source: source.instance, target: target.instance, targetSeq };
  }

  async #writeTo(side: Side, history: readonly HistoryEntry[], alone: OneSidedCheckpoint | undefined): Promise<void> {
    const former = this.#refusing.get(side);
    if (former === 'for good') return;
    const { peers, log } = this.#options;
    try {
      const isFirst = !this.#known.has(side);
      const hasBegun = side === 'source' && (await this.#beginAtSource(history));
      this.#noteWritten(side, await this.#writeRecord(side, history, alone, hasBegun));
      if (isFirst) await this.#checkWritten(side, history);
      if (this.#refusing.delete(side))
        log.info(`replication: the ${side} ${peers[side].name} accepts checkpoints again`);
    } catch (failure) {
      if (!isRefusalToStore(failure)) throw failure;
      this.#refusing.set(side, failure.code === 'storage_full' ? 'for now' : 'for good');
      if (former !== undefined) return;
      const rest =
        this.#refusing.size === 1 ? 'only the other end stores it' : 'the next run has to read all changes again';
      log.info(`replication: the ${side} ${peers[side].name} accepts no checkpoint (${failure.reason}); ${rest}`);
    }
  }

  /**
   * The first record says that nothing is copied, which is true in any database: the source may have been created again before the record arrives
   * there, and a record of this session would hide the new documents. The next record follows only if this one is in the source of the session, and
   * replaces it by its revision, which a database that was created after it lacks. Without an instance there is nothing to check. Returns whether
   * that record was written.
   */
  async #beginAtSource([newest]: readonly HistoryEntry[]): Promise<boolean> {
    const { id, infos, peers } = this.#options;
    if (newest === undefined || this.#known.has('source') || infos.source.instance === undefined) return false;
    const rev = await peers.source.writeCheckpoint(id, emptyRecordText(newest.session_id, 'source'), undefined);
    await this.#checkInstance('source');
    this.#noteWritten('source', rev);
    return true;
  }

  /**
   * It may have been written to a database that was just created again: some servers take it there with the revision of another. A source's record
   * would hide the new documents, so it then says again that nothing is copied.
   */
  async #checkWritten(side: Side, [newest]: readonly HistoryEntry[]): Promise<void> {
    const { id, peers } = this.#options;
    try {
      await this.#checkInstance(side);
    } catch (failure) {
      if (side === 'source' && newest !== undefined && failure instanceof EndChanged)
        await peers.source.writeCheckpoint(id, emptyRecordText(newest.session_id, side), this.#known.get(side));
      throw failure;
    }
  }

  /** `rev`: undefined if the end lacks a checkpoint that it had, and so perhaps the documents before it. */
  #noteWritten(side: Side, rev: string | undefined): void {
    if (rev === undefined) throw new EndChanged(this.#options.peers[side].name);
    this.#known.set(side, rev);
  }

  /** Content from peers and databases must not keep it from being written: if an end can't store it, it gets less. */
  async #writeRecord(
    side: Side,
    history: readonly HistoryEntry[],
    alone: OneSidedCheckpoint | undefined,
    isJustSeen: boolean,
  ): Promise<string | undefined> {
    const { id, log, peers } = this.#options;
    const [peer, known] = [peers[side], this.#known.get(side)];
    try {
      return await peer.writeCheckpoint(id, recordText(history, alone, side), known, isJustSeen);
    } catch (failure) {
      if (!isOfContent(failure)) throw failure;
      log.info(`replication: ${failure.reason}; the checkpoint is written without details`);
      return peer.writeCheckpoint(id, recordText(withoutDetails(history), alone, side), known);
    }
  }

  async #checkInstance(side: Side): Promise<void> {
    const { peers, infos } = this.#options;
    const { instance } = await infoOf(peers[side]);
    if (differs(instance, infos[side].instance)) throw new EndChanged(peers[side].name);
  }

  async #commitSource(): Promise<string | undefined> {
    const { source } = this.#options.peers;
    for (let attempt = 1; this.#sourceCommits; attempt++) {
      try {
        return await source.commit();
      } catch (failure) {
        if (!isRefusal(failure)) throw failure;
        this.#sourceCommits = failure.code === 'unauthorized' && attempt === 1;
        // If the credentials have ended, this fails, too, or gets others, with which the source may accept it.
        if (this.#sourceCommits) await infoOf(source);
      }
    }
    return (await infoOf(source)).instance;
  }
}

async function infoOf(peer: Peer): Promise<PeerInfo> {
  const info = await peer.info();
  if (info !== undefined) return info;
  throw new ReplicationError('db_not_found', `${peer.name} does not exist any more`, { isRetryable: true });
}

/** Some servers don't say. */
function differs(now: string | undefined, before: string | undefined): boolean {
  return now !== undefined && before !== undefined && now !== before;
}

function isRefusal(failure: unknown): failure is ReplicationError {
  return failure instanceof ReplicationError && (failure.code === 'forbidden' || failure.code === 'unauthorized');
}

/** Whether an end accepts no checkpoint. One whose credentials have ended may accept it later: then this session ends, as by any other request. */
function isRefusalToStore(failure: unknown): failure is ReplicationError {
  return failure instanceof ReplicationError && (failure.code === 'forbidden' || failure.code === 'storage_full');
}

/** Whether an end can't store the content of a checkpoint. */
function isOfContent(failure: unknown): failure is ReplicationError {
  return failure instanceof ReplicationError && (failure.code === 'bad_request' || failure.code === 'too_large');
}
