import { Presets, SingleBar } from 'cli-progress';

/** Where progress and messages go: stderr, in the command line. */
export interface MessageStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  /** How often a line of progress comes where there is no terminal. Default: once a second. */
  readonly progressMs?: number;
}

/** Shows the progress of a command: a bar on a terminal, elsewhere a line now and then. */
export interface Progress {
  /**
   * @param note what has been done so far, in words
   * @param total if it has changed
   */
  update(done: number, note: string, total?: number): void;
  end(): void;
}

/** Called with the amount that is done and the total, in a unit of the caller's choice. */
export type OnProgress = (done: number, total: number) => void;

const PROGRESS_MS = 1_000;
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface ProgressOptions {
  /** The caller listens to signals that end processes, and ends the progress. Default false. */
  readonly handlesSignals?: boolean;
}

/** @param total in the unit that `update` counts in; undefined if it is unknown. */
export function createProgress(
  stream: MessageStream,
  total: number | undefined,
  options: ProgressOptions = {},
): Progress {
  if (!stream.isTTY || total === undefined || total <= 0) return lineProgress(stream, total);
  return barProgress(stream, total, options);
}

function barProgress(stream: MessageStream, first: number, { handlesSignals = false }: ProgressOptions): Progress {
  let total = first;
  const options = { stream, format: '{bar} {percentage} %  {note}', hideCursor: true, etaBuffer: 50 };
  const bar = new SingleBar(options, Presets.shades_classic);
  bar.start(total, 0, { note: '' });
  // Restores the terminal's cursor and line breaks, then lets the signal end the process as usual.
  const onSignal = (signal: NodeJS.Signals) => {
    end();
    process.kill(process.pid, signal);
  };
  const end = () => {
    for (const signal of endSignals) process.off(signal, onSignal);
    bar.stop();
  };
  if (!handlesSignals) for (const signal of endSignals) process.on(signal, onSignal);
  const update: Progress['update'] = (done, note, changed = total) => {
    if (changed !== total) bar.setTotal(changed);
    total = changed;
    bar.update(Math.min(done, total), { note });
  };
  return { update, end };
}

function lineProgress(stream: MessageStream, first: number | undefined): Progress {
  const { progressMs = PROGRESS_MS } = stream;
  let total = first;
  let shownAt = performance.now();
  return {
    update(done, note, changed = total) {
      total = changed;
      const now = performance.now();
      if (now - shownAt < progressMs) return;
      shownAt = now;
      const share = total ? `${Math.floor((100 * done) / total)} %, ` : '';
      stream.write(`${share}${note}\n`);
    },
    end: () => undefined,
  };
}

const units = ['kB', 'MB', 'GB', 'TB'] as const;

/** A number of bytes for people: `999 bytes`, `20.1 MB`; a kB has 1000. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  let scaled = bytes / 1000;
  let unit = 0;
  // A number that would be shown as 1000.0 is 1.0 of the next unit.
  while (scaled >= 999.95 && unit < units.length - 1) {
    scaled /= 1000;
    unit++;
  }
  return `${scaled.toFixed(1)} ${units[unit]}`;
}
