/** Reads the source's changes in order: existing ones, and in a continuous replication new ones. */

import { isDesignId } from '../../database/documents/identifiers.ts';
import type { Replication, Sequence } from '../contract.ts';
import { ReplicationError } from '../failure.ts';
import { sleep } from '../peers/client/pacing.ts';
import type { ChangesPage, PeerInfo } from '../peers/contract.ts';
import type { Peer } from '../peers/peer.ts';
import { isBeyond, isSameSequence } from '../peers/sequences.ts';
import { EndChanged } from './checkpoints.ts';

/** A feed that ends after a shorter time is not begun again at once. */
const SHORT_MS = 1_000;
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 20_000;

export interface ChangeReaderOptions {
  readonly source: Peer;
  readonly info: PeerInfo;
  readonly replication: Replication;
  readonly monotonic: () => number;
  readonly signal: AbortSignal;
  /** Takes the next changes; those after them are read when it has resolved. */
  readonly take: (page: ChangesPage) => Promise<void>;
  /** Called when the feed has ended or was cut off. Fails if the source has changed. */
  readonly check: () => Promise<void>;
  /** All existing changes were read. */
  readonly onCaughtUp: () => void;
}

export class ChangeReader {
  readonly #options: ChangeReaderOptions;
  #since: Sequence;

  constructor(options: ChangeReaderOptions, since: Sequence) {
    this.#options = options;
    this.#since = since;
  }

  /** Resolves when all is read; never if the replication is continuous. */
  async read(): Promise<void> {
    const { replication, source } = this.#options;
    const { batchSize: limit, selection, continuous } = replication;
    for (;;) {
      const page = await source.changes({ since: this.#since, limit, selection });
      if (!page.isLast && isSameSequence(page.lastSeq, this.#since)) throw standsStill(source.name);
      await this.#take(page);
      if (page.isLast) break;
    }
    this.#options.onCaughtUp();
    if (continuous) await this.#follow();
  }

  async #take(page: ChangesPage): Promise<void> {
    this.#since = page.lastSeq;
    const { take, replication } = this.#options;
    await take(replication.designDocs === false ? withoutDesignDocs(page) : page);
  }

  async #follow(): Promise<never> {
    const { source, replication, monotonic, signal } = this.#options;
    const { batchSize: limit, selection } = replication;
    for (let shortOnes = 0; ; ) {
      const begun = monotonic();
      await source.follow({ since: this.#since, limit, selection }, (page) => this.#take(page));
      signal.throwIfAborted();
      await this.#checkSource();
      shortOnes = monotonic() - begun < SHORT_MS ? shortOnes + 1 : 0;
      if (shortOnes > 1) await sleep(Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** shortOnes), signal);
    }
  }

  /** The name may refer to another database now. */
  async #checkSource(): Promise<void> {
    const { source, info } = this.#options;
    const now = await source.info();
    if (now === undefined) {
      throw new ReplicationError('db_not_found', `the source ${source.name} was deleted`, { isRetryable: true });
    }
    if (now.instance !== info.instance || isBeyond(this.#since, now.updateSeq)) throw new EndChanged(source.name);
    await this.#options.check();
  }
}

function withoutDesignDocs(page: ChangesPage): ChangesPage {
  return { ...page, changes: page.changes.filter(({ id }) => !isDesignId(id)) };
}

function standsStill(name: string): ReplicationError {
  return new ReplicationError(
    'replication_failed',
    `${name} returns the same changes again and again. Something between may repeat old responses: see that _changes is not cached.`,
    {
      isRetryable: true,
    },
  );
}
