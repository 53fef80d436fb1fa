/** Stores what a run reports in its job, and shows it as a task. */
import type { ReplicationTask } from '../../base/system/active-tasks.ts';
import type { RefusedDocument, RunStats } from '../contract.ts';
import type { Job } from './job.ts';
import { taskTrouble } from './job-trouble.ts';

export class JobObserver {
  readonly #job: Job;
  readonly #task: ReplicationTask;
  readonly #service: { now(): number; onActivity(): void };
  #firstCheckpoint: string | undefined;
  #isHealthy = false;

  constructor(job: Job, task: ReplicationTask, service: { now(): number; onActivity(): void }) {
    this.#job = job;
    this.#task = task;
    this.#service = service;
  }

  progress(figures: RunStats): void {
    const job = this.#job;
    job.figures = figures;
    job.updatedAt = this.#service.now();
    const hasReached = figures.outage === undefined && figures.hasReached !== false;
    if (hasReached) this.#noteHealth();
    this.#report(figures);
    if (figures.hasReached === false) return;
    const checkpoint = JSON.stringify(figures.checkpointedSourceSeq);
    this.#firstCheckpoint ??= checkpoint;
    if (checkpoint !== this.#firstCheckpoint) job.recover();
  }

  refused(document: RefusedDocument): void {
    this.#job.ledger.add(document);
    this.#job.order.listener?.ledgerChanged?.(this.#job);
    if (this.#job.figures !== undefined) this.#report(this.#job.figures);
  }

  async keepRefused(): Promise<void> {
    await this.#job.order.listener?.keepLedger?.(this.#job);
  }

  listed(id: string, revs: readonly string[]): void {
    if (!this.#job.ledger.supersede(id, revs)) return;
    this.#job.order.listener?.ledgerChanged?.(this.#job);
    if (this.#job.figures !== undefined) this.#report(this.#job.figures);
  }

  idle(isIdle: boolean): void {
    this.#job.isIdle = isIdle;
    this.#job.updatedAt = this.#service.now();
    this.#noteHealth();
    if (isIdle) this.#job.recover();
    this.#service.onActivity();
  }

  #noteHealth(): void {
    if (this.#isHealthy) return;
    this.#isHealthy = true;
    this.#job.reach();
    this.#job.order.listener?.healthy?.(this.#job);
  }

  #report(figures: RunStats): void {
    this.#task.update(figures, this.#job.ledger.list(), taskTrouble(this.#job));
  }
}
