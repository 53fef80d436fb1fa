import { Presets, SingleBar } from 'cli-progress';

/** Where progress and messages go: stderr, in the command line. */
export interface MessageStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** Shows the progress of a command: a bar on a terminal, elsewhere a line at most once a second. */
export interface Progress {
  /** @param note what has been done so far, in words */
  update(done: number, note: string): void;
  end(): void;
}

/** Called with how much is done and how much there is in total, in a unit of the caller's choice. */
export type OnProgress = (done: number, total: number) => void;

const lineIntervalMs = 1_000;
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** @param total in the unit that `update` counts in; undefined where it is unknown. */
export function createProgress(stream: MessageStream, total: number | undefined): Progress {
  return stream.isTTY && total !== undefined && total > 0 ? barProgress(stream, total) : lineProgress(stream, total);
}

function barProgress(stream: MessageStream, total: number): Progress {
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
  for (const signal of endSignals) process.on(signal, onSignal);
  return { update: (done, note) => bar.update(Math.min(done, total), { note }), end };
}

function lineProgress(stream: MessageStream, total: number | undefined): Progress {
  let shownAt = performance.now();
  return {
    update(done, note) {
      const now = performance.now();
      if (now - shownAt < lineIntervalMs) return;
      shownAt = now;
      const share = total ? `${Math.floor((100 * done) / total)} %, ` : '';
      stream.write(`${share}${note}\n`);
    },
    end: () => undefined,
  };
}
