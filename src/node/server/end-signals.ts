/** The parts of a process by which somebody asks it to end. */
export interface SignalHost {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
}

/**
 * npm passes on a Ctrl-C that the terminal has sent to the server already, so one key press arrives as two signals.
 * A second signal within this time is taken for the same key press.
 */
const SAME_SIGNAL_MS = 500;

/** Calls back at the first signal, and at those that follow but for its echo. Gives the function that ends it. */
export function onEndSignals(host: SignalHost, first: () => void, further: () => void): () => void {
  let firstAt: number | undefined;
  const onSignal = () => {
    if (firstAt === undefined) {
      firstAt = performance.now();
      first();
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
      further();
    }
  };
  host.on('SIGINT', onSignal);
  host.on('SIGTERM', onSignal);
  return () => {
    host.off('SIGINT', onSignal);
    host.off('SIGTERM', onSignal);
  };
}
