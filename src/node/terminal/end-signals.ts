/** The parts of a process through which it is asked to end. */
export interface SignalHost {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
}

/**
 * npm passes on a Ctrl-C that the terminal has sent to the server already, so one key press arrives as two signals.
 * A second signal within this time counts as the same key press.
 */
const SAME_SIGNAL_MS = 500;

/** Calls back at the first signal, and at later ones except for its echo. Returns a function that ends the listening. */
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
