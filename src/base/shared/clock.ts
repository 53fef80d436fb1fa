/** The clock and randomness are passed in, so that tests control them; timers are the platform's. */

export interface Clock {
  /** Milliseconds since the epoch; may jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start; never goes back. */
  monotonic(): number;
}

/** Fills the given bytes with random values and returns them. */
export type RandomBytes = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
};

export const systemRandom: RandomBytes = (bytes) => crypto.getRandomValues(bytes);

/** Resolves after this many milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The longest delay that platform timers take, almost 25 days: a longer one would end immediately. */
const MAX_MS = 2_147_483_647;

/** Calls `work` after `ms`, but after 24 days at the latest. On Node the timer does not keep the process alive. Returns a function that stops it. */
export function startBackgroundTimer(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, Math.min(ms, MAX_MS));
  const handle: unknown = timer;
  if (isUnreferable(handle)) handle.unref();
  return () => clearTimeout(timer);
}

/** Node's timers are objects. */
function isUnreferable(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function';
}
