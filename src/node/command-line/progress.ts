import { Presets, SingleBar } from 'cli-progress';

/** Where progress and messages go: stderr, in the command line. */
export interface MessageStream extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
}

/** Shows how far something has come: a bar on a terminal, elsewhere a line at most once a second. */
export interface Progress {
  /** @param note what has been done so far, in words */
  update(done: number, note: string): void;
  end(): void;
}

/** Called with what has been done of what there is, in a unit of the callee's choice. */
export type OnProgress = (done: number, total: number) => void;

const lineIntervalMs = 1_000;
const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** @param total of the unit that `update` counts in; undefined where nobody knows. */
export function createProgress(stream: MessageStream, total: number | undefined): Progress {
  return stream.isTTY && total !== undefined && total > 0 ? barProgress(stream, total) : lineProgress(stream, total);
}

function barProgress(stream: MessageStream, total: number): Progress {
  const options = { stream, format: '{bar} {percentage} %  {note}', hideCursor: true, etaBuffer: 50 };
  const bar = new SingleBar(options, Presets.shades_classic);
  bar.start(total, 0, { note: '' });
  // Ends the process as without it, but gives the terminal its cursor and its line breaks back.
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
