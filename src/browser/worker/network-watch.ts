/**
 * Reports that connections may be dead and servers reachable again: the browser says that the network is back, or this worker did not run for a
 * while, because the device slept or the browser froze the page.
 */
import type { Clock } from '../../base/shared/clock.ts';

/** A worker's own scope, where browsers dispatch `online`. */
export type NetworkEvents = Pick<EventTarget, 'addEventListener' | 'removeEventListener'>;

const CHECK_MS = 5_000;
/** A busy worker runs its timers late by less than this. */
const GAP_MS = 10_000;

/** Returns a function that ends it. */
export function watchNetwork(clock: Clock, events: NetworkEvents | undefined, onBack: () => void): () => void {
  // The clock that goes on while the device sleeps, in all browsers.
  let last = clock.now();
  const timer = setInterval(() => {
    const now = clock.now();
    if (now - last > CHECK_MS + GAP_MS) onBack();
    last = now;
  }, CHECK_MS);
  events?.addEventListener('online', onBack);
  return () => {
    clearInterval(timer);
    events?.removeEventListener('online', onBack);
  };
}
