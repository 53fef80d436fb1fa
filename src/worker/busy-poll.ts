/** Keeps a worker awake between requests that follow each other. */
export interface Wakefulness {
  /** To be called at a request: turns would take the processor from those who store what it writes. */
  asked(): void;
  /** To be called behind an answer. */
  answered(): void;
}

/** Until this long after the answer before, another one shows that somebody asks again and again. */
const SOON_MS = 5;
const AWAKE_MS = 0.3;

/**
 * Whoever awaits one request after another sends the next within a fraction of a millisecond, and waking a thread that has gone to sleep
 * meanwhile takes Chromium as long as the request itself: a GET takes 0.22 ms with that, 0.18 without. So behind an answer that soon
 * follows another the worker goes on turning for 0.3 ms, or until the next request. Whatever else waits has its turns meanwhile.
 */
export function createWakefulness(): Wakefulness {
  const { port1, port2 } = new MessageChannel();
  let answeredAt = 0;
  let awakeUntil = 0;
  let isTurning = false;
  const turn = (): void => {
    isTurning = performance.now() < awakeUntil;
    if (isTurning) port2.postMessage(0);
  };
  port1.onmessage = turn;
  return {
    asked: () => {
      awakeUntil = 0;
    },
    answered: () => {
      const now = performance.now();
      if (now - answeredAt < SOON_MS) awakeUntil = now + AWAKE_MS;
      answeredAt = now;
      if (!isTurning) turn();
    },
  };
}
