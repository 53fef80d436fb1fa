/** A continuous replication that is restarted if it fails and may succeed, like the service's own jobs, with short waits. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Replication, ReplicatorHost } from '../../../src/replication/contract.ts';
import { begin, pick, type Run } from '../../unit/replication/support.ts';

const PAUSE_MS = 50;

export class KeptRun {
  readonly failures: unknown[] = [];
  readonly #begin: () => Run;
  #run: Run;
  #isStopped = false;
  readonly #ended: Promise<void>;

  constructor(host: ReplicatorHost, replication: Replication, checkpointId?: string) {
    this.#begin = () => begin(host, { ...replication, continuous: true }, checkpointId);
    this.#run = this.#begin();
    this.#ended = this.#goOn();
    this.#ended.catch(() => undefined);
  }

  get current(): Run {
    return this.#run;
  }

  /** Fails if a run failed permanently. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#run.stop();
    await this.#ended;
  }

  async #goOn(): Promise<void> {
    for (;;) {
      const failure = await this.#run.result.catch((one: unknown) => one);
      if (this.#isStopped) return;
      this.failures.push(failure);
      // A database that does not exist (yet) is also retried.
      if (pick(failure, 'isRetryable') !== true && pick(failure, 'code') !== 'db_not_found') throw failure;
      await sleep(PAUSE_MS);
      if (this.#isStopped) return;
      this.#run = this.#begin();
    }
  }
}
