/**
 * One session of a replication, from where both ends agree that everything was copied. Reading changes, asking for missing revisions, reading,
 * writing and checkpoints run concurrently; the number of workers and the bytes of their batches bound the work under way.
 */
import { randomHex } from '../../base/shared/bytes.ts';
import type { HistoryEntry, Replication, ReplicatorHost, RunResult, Sequence } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import type { MemoryShare } from '../peer-memory.ts';
import type { ChangesPage, Ends, PeerInfo } from '../peers/contract.ts';
import { openPeer } from '../peers/open-peer.ts';
import type { Peer } from '../peers/peer.ts';
import { isSameSequence } from '../peers/sequences.ts';
import { userKey } from '../user-key.ts';
import { AttachedDocuments } from './attached-documents.ts';
import { BatchCopier } from './batch-copier.ts';
import { BatchOrder, Workers } from './batch-pipeline.ts';
import { ChangeReader } from './change-reader.ts';
import type { CommonCheckpoint } from './checkpoint-record.ts';
import { ID_VERSION, withEntry } from './checkpoint-record.ts';
import { Checkpoints, EndChanged } from './checkpoints.ts';
import type { ReplicationStats } from './replication-stats.ts';

export interface SessionOptions {
  readonly replication: Replication;
  readonly checkpointId: string;
  readonly host: ReplicatorHost;
  readonly figures: ReplicationStats;
  readonly onIdle: (isIdle: boolean) => void;
  /** Where the memory for peers' responses is counted; undefined if it is not counted. */
  readonly memory: MemoryShare | undefined;
  /** Ends the session. */
  readonly signal: AbortSignal;
}

/** The time for the last checkpoint of a session that ended early. */
const LAST_CHECKPOINT_MS = 2_000;
/** An idle session checks the target after this many checkpoint intervals: it may have come back with less than it had. */
const INTERVALS_BETWEEN_LOOKS = 12;

export class Session {
  readonly #options: SessionOptions;
  readonly #controller = new AbortController();
  readonly #id: string;
  readonly #startTime: string;
  readonly #peers: Ends<Peer>;
  #failure: { readonly cause: unknown } | undefined;
  #isCaughtUp = false;
  #isIdle = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lookTimer: ReturnType<typeof setTimeout> | undefined;
  #checkpointing: Promise<void> | undefined;
  /** The sequence of the last checkpoint. */
  #recordedSeq: Sequence = 0;
  #history: readonly HistoryEntry[] = [];

  constructor(options: SessionOptions) {
    const { replication, host } = options;
    this.#options = options;
    this.#id = randomHex(host.random, 16);
    this.#startTime = this.#now();
    this.#peers = this.#openPeers(replication, this.#controller.signal, options.memory);
  }

  /** Fails with `EndChanged` if an end became another database in the meantime, and with `ReplicationError`. */
  async run(): Promise<RunResult> {
    const { signal } = this.#options;
    const abort = () => this.#controller.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    try {
      return await this.#run();
    } finally {
      signal.removeEventListener('abort', abort);
      clearTimeout(this.#timer);
      clearTimeout(this.#lookTimer);
      this.#controller.abort();
    }
  }

  async #run(): Promise<RunResult> {
    const { replication, checkpointId, host, figures } = this.#options;
    const infos = await this.#openEnds();
    figures.hasReached = true;
    const { formerCheckpoint: formerId } = replication;
    const checkpoints = new Checkpoints({ id: checkpointId, formerId, peers: this.#peers, infos, log: host.log });
    const common: CommonCheckpoint = replication.useCheckpoints ? await checkpoints.find() : { since: 0, history: [] };
    const since = replication.sinceSeq ?? common.since;
    this.#recordedSeq = since;
    figures.beginSession(since);
    const order = new BatchOrder(since);
    const state: State = { since, common, order, checkpoints, infos };
    try {
      await this.#copy(state);
    } catch (failure) {
      await this.#saveProgress(state, failure);
      throw failure;
    }
    await this.#checkpoint(state).catch((failure: unknown) => {
      // An earlier task may have failed, and have ended this one.
      this.#throwFailure();
      throw failure;
    });
    figures.report();
    return this.#result(state);
  }

  async #copy(state: State): Promise<void> {
    const { replication, host, figures, memory } = this.#options;
    const { signal } = this.#controller;
    const { retriesPerRequest: retries } = replication;
    const attached = new AttachedDocuments({ peers: this.#peers, figures, retries, random: host.random, signal });
    const copier = new BatchCopier({
      ...{ peers: this.#peers, figures, attached },
      memory: replication.source.kind === 'remote' ? memory : undefined,
    });
    const workers = new Workers(replication.workers, (failure) => this.#fail(failure));
    const take = async (page: ChangesPage) => {
      this.#throwFailure();
      this.#noteRead(page);
      const done = state.order.begin(page.lastSeq);
      await workers.begin(async () => {
        await copier.copy(page.changes);
        done();
        this.#noteDone(page, state);
      });
      this.#throwFailure();
    };
    const reader = new ChangeReader(
      {
        source: this.#peers.source,
        info: state.infos.source,
        replication,
        monotonic: () => host.clock.monotonic(),
        signal,
        take,
        check: () => state.checkpoints.check('source'),
        onCaughtUp: () => {
          this.#isCaughtUp = true;
          this.#noteIdle(state);
        },
      },
      state.since,
    );
    try {
      await reader.read();
    } catch (failure) {
      this.#fail(failure);
    }
    await workers.end();
    this.#throwFailure();
  }

  /** The first failure counts: it caused the later ones. */
  #fail(cause: unknown): void {
    this.#failure ??= { cause };
    this.#controller.abort();
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  #noteRead({ changes, lastSeq, pending }: ChangesPage): void {
    const { figures } = this.#options;
    figures.sourceSeq = lastSeq;
    // A continuous feed leaves nothing pending.
    figures.pendingAtSource = this.#isCaughtUp ? 0 : pending;
    figures.changesUnderWay += changes.length;
    if (this.#isIdle && changes.length > 0) {
      this.#isIdle = false;
      this.#options.onIdle(false);
    }
    figures.changed();
  }

  #noteDone({ changes }: ChangesPage, state: State): void {
    const { figures, replication } = this.#options;
    figures.changesUnderWay -= changes.length;
    figures.changed();
    this.#noteIdle(state);
    if (this.#timer !== undefined || isSameSequence(state.order.reached, this.#recordedSeq)) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#checkpoint(state).catch((failure: unknown) => this.#fail(failure));
    }, replication.checkpointIntervalMs);
  }

  #noteIdle({ order, checkpoints }: State): void {
    const { replication, onIdle, figures } = this.#options;
    if (!replication.continuous || !this.#isCaughtUp || this.#isIdle || !order.isEmpty) return;
    this.#isIdle = true;
    figures.pendingAtSource = 0;
    figures.report();
    onIdle(true);
    this.#lookLater(checkpoints);
  }

  #lookLater(checkpoints: Checkpoints): void {
    clearTimeout(this.#lookTimer);
    const waitMs = INTERVALS_BETWEEN_LOOKS * this.#options.replication.checkpointIntervalMs;
    this.#lookTimer = setTimeout(() => {
      if (this.#isIdle) void this.#lookAtTarget(checkpoints);
    }, waitMs);
  }

  /** An unreachable target is no failure while there is nothing to write. */
  async #lookAtTarget(checkpoints: Checkpoints): Promise<void> {
    try {
      await checkpoints.check('target');
    } catch (failure) {
      const isGone = failure instanceof ReplicationError && failure.code === 'db_not_found';
      if (isGone || failure instanceof EndChanged) return this.#fail(failure);
    }
    if (!this.#controller.signal.aborted) this.#lookLater(checkpoints);
  }

  /** One at a time, in the order of the requests: two at once would conflict. */
  #checkpoint(state: State, checkpoints = state.checkpoints): Promise<void> {
    const before = this.#checkpointing?.catch(() => undefined) ?? Promise.resolve();
    this.#checkpointing = before.then(() => this.#writeCheckpoint(state, checkpoints));
    return this.#checkpointing;
  }

  async #writeCheckpoint({ order, common, since }: State, checkpoints: Checkpoints): Promise<void> {
    const { replication, figures } = this.#options;
    const seq = order.reached;
    if (isSameSequence(seq, this.#recordedSeq)) return;
    await figures.keepRefused();
    await checkpoints.commit();
    const history = withEntry(this.#entry(since, seq), common.history);
    if (replication.useCheckpoints) await checkpoints.write(history);
    this.#history = history;
    this.#recordedSeq = seq;
    figures.checkpointedSourceSeq = seq;
    figures.changed();
  }

  /** Records what was written before the session failed, if that is possible at once. */
  async #saveProgress(state: State, failure: unknown): Promise<void> {
    if (isSameSequence(state.order.reached, this.#recordedSeq)) return;
    const { replication, host } = this.#options;
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), LAST_CHECKPOINT_MS);
    // The run's memory may be what it failed for.
    const memory = host.memory?.open(userKey(replication.user), () => controller.abort());
    try {
      const peers = this.#openPeers({ ...replication, retriesPerRequest: 0 }, controller.signal, memory);
      await this.#checkpoint(state, state.checkpoints.withPeers(peers));
    } catch (second) {
      if (!(second instanceof Error)) throw failure;
      host.log.debug(`replication: the last checkpoint could not be written: ${second.message}`);
    } finally {
      clearTimeout(timer);
      memory?.end();
    }
  }

  async #openEnds(): Promise<Ends<PeerInfo>> {
    const { source, target } = this.#peers;
    const [sourceInfo, targetInfo] = await Promise.all([source.info(), this.#openTarget(target)]);
    return { source: sourceInfo ?? notFound(source), target: targetInfo ?? notFound(target) };
  }

  async #openTarget(target: Peer): Promise<PeerInfo | undefined> {
    const info = await target.info();
    if (info !== undefined || !this.#options.replication.createTarget) return info;
    await target.create();
    return target.info();
  }

  #openPeers(replication: Replication, signal: AbortSignal, memory: MemoryShare | undefined): Ends<Peer> {
    const { host, figures } = this.#options;
    const open = (side: 'source' | 'target') =>
      openPeer(replication[side], replication, host, {
        ...{ side, signal, memory },
        onOutage: (one) => figures.setOutage(side, one),
      });
    return { source: open('source'), target: open('target') };
  }

  #result({ common, since, order }: State): RunResult {
    const isUnchanged = isSameSequence(since, order.reached);
    const history = isUnchanged ? common.history : this.#history;
    const { start_time, missing_checked, missing_found, docs_read, docs_written, doc_write_failures, ...latest } =
      this.#entry(since, order.reached);
    // The time at which the last checkpoint was recorded, as in the history.
    const end_time = isUnchanged ? latest.end_time : (history[0]?.end_time ?? latest.end_time);
    // Changes that a filter left out are also read, and recorded.
    const hasNothing = isUnchanged || (missing_checked === 0 && doc_write_failures === 0);
    return {
      session_id: history[0]?.session_id ?? this.#id,
      source_last_seq: order.reached,
      replication_id_version: ID_VERSION,
      history,
      ...{ start_time, end_time, missing_checked, missing_found, docs_read, docs_written, doc_write_failures },
      ...(hasNothing ? { no_changes: true } : {}),
    };
  }

  #entry(since: Sequence, seq: Sequence): HistoryEntry {
    const { figures } = this.#options;
    const counts = figures.get();
    return {
      session_id: this.#id,
      start_time: this.#startTime,
      end_time: this.#now(),
      start_last_seq: since,
      end_last_seq: seq,
      recorded_seq: seq,
      missing_checked: counts.missingChecked,
      missing_found: counts.missingFound,
      docs_read: counts.docsRead,
      docs_written: counts.docsWritten,
      doc_write_failures: counts.docWriteFailures,
      ...(figures.refused.length === 0 ? {} : { refused: figures.refused.slice() }),
    };
  }

  #now(): string {
    return new Date(this.#options.host.clock.now()).toUTCString();
  }
}

interface State {
  readonly since: Sequence;
  readonly common: CommonCheckpoint;
  readonly order: BatchOrder;
  readonly checkpoints: Checkpoints;
  readonly infos: Ends<PeerInfo>;
}

function notFound({ name }: Peer): never {
  throw new ReplicationError('db_not_found', `could not open ${name}`, { isRetryable: false });
}
