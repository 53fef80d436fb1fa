import type { ReplicationTask } from '../../base/system/active-tasks.ts';
import { formatBytes } from '../terminal/format-bytes.ts';
import { createProgress, type MessageStream, type Progress } from '../terminal/progress.ts';

type Figures = Parameters<ReplicationTask['update']>[0];

/** Shows the progress of a replication, as the service reports it for its tasks. */
export class ReplicationProgress {
  readonly #stream: MessageStream;
  #progress: Progress | undefined;
  /** The number of the source's changes to process, as far as known. */
  #total = 0;
  /** For runs before this one: each attempt counts from zero. */
  #before = { written: 0, bytes: 0 };
  #figures: Figures | undefined;

  constructor(stream: MessageStream) {
    this.#stream = stream;
  }

  get written(): number {
    return this.#before.written + (this.#figures?.docsWritten ?? 0);
  }

  get bytesWritten(): number {
    return this.#before.bytes + (this.#figures?.bytesWritten ?? 0);
  }

  /** The service calls it for each attempt. */
  readonly startReplication = (): ReplicationTask => {
    this.#before = { written: this.written, bytes: this.bytesWritten };
    this.#figures = undefined;
    return {
      update: (figures, refused) => {
        this.#figures = figures;
        this.#show(figures, refused.length);
      },
      end: () => undefined,
    };
  };

  #show({ pending }: Figures, refused: number): void {
    this.#total = Math.max(this.#total, pending ?? 0);
    // A bar needs to know the total.
    if (this.#progress === undefined && pending === undefined) return;
    this.#progress ??= createProgress(this.#stream, this.#total, { handlesSignals: true });
    const parts = [`${this.written} written, ${formatBytes(this.bytesWritten)}`];
    if (refused > 0) parts.push(`${refused} refused`);
    if (pending !== undefined) parts.push(`${pending} pending`);
    this.#progress.update(this.#total - (pending ?? this.#total), parts.join(', '), this.#total);
  }

  end(): void {
    this.#progress?.end();
    this.#progress = undefined;
  }
}
