import type { WorkReport } from '../controls.ts';

/** Writes documents one after another, and beside it reads one, and notes what was answered and after how long. */
export class Workload {
  readonly #send: (path: string, init?: RequestInit) => Promise<Response>;
  readonly #database: string;
  readonly #prefix: string;
  readonly #onAcknowledged: (id: string) => void;
  readonly #acknowledged: string[] = [];
  readonly #refused: string[] = [];
  readonly #failedReads: string[] = [];
  #reads = 0;
  readonly #any = new Gap();
  readonly #writes = new Gap();
  readonly #answeredReads = new Gap();
  #isEnding = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(
    send: (path: string, init?: RequestInit) => Promise<Response>,
    database: string,
    prefix: string,
    onAcknowledged: (id: string) => void,
  ) {
    this.#send = send;
    this.#database = database;
    this.#prefix = prefix;
    this.#onAcknowledged = onAcknowledged;
  }

  begin(): void {
    this.#running = Promise.all([this.#write(), this.#read()]);
  }

  report(): WorkReport {
    return {
      acknowledged: this.#acknowledged,
      refused: this.#refused,
      reads: this.#reads,
      failedReads: this.#failedReads,
      longestSilenceMs: this.#any.longestMs,
      longestWriteGapMs: this.#writes.longestMs,
      longestReadGapMs: this.#answeredReads.longestMs,
    };
  }

  /** The report so far; the longest times are counted anew. */
  mark(): WorkReport {
    const report = this.report();
    for (const gap of [this.#any, this.#writes, this.#answeredReads]) gap.longestMs = 0;
    return report;
  }

  async end(): Promise<WorkReport> {
    this.#isEnding = true;
    await this.#running;
    return this.report();
  }

  async #write(): Promise<void> {
    for (let number = 0; !this.#isEnding; number += 1) {
      const id = `${this.#prefix}-${`${number}`.padStart(6, '0')}`;
      const outcome = await this.#ask(`${this.#database}/${id}`, { method: 'PUT', body: '{}' });
      if (outcome !== '201') {
        this.#refused.push(`${id}: ${outcome}`);
        await breath();
        continue;
      }
      this.#acknowledged.push(id);
      this.#onAcknowledged(id);
      this.#writes.note();
      this.#any.note();
    }
  }

  async #read(): Promise<void> {
    while (!this.#isEnding) {
      const outcome = await this.#ask(this.#database);
      if (outcome !== '200') {
        this.#failedReads.push(outcome);
        await breath();
        continue;
      }
      this.#reads += 1;
      this.#answeredReads.note();
      this.#any.note();
    }
  }

  async #ask(path: string, init?: RequestInit): Promise<string> {
    try {
      const answer = await this.#send(path, init);
      const text = await answer.text();
      return answer.ok ? `${answer.status}` : `${answer.status} ${text}`;
    } catch (error) {
      return String(error);
    }
  }
}

/** The longest time between two events. */
class Gap {
  longestMs = 0;
  #last = performance.now();

  note(): void {
    const now = performance.now();
    this.longestMs = Math.max(this.longestMs, now - this.#last);
    this.#last = now;
  }
}

/** So that refusals that come at once don't keep the thread. */
function breath(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}
