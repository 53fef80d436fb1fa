/** Waits between attempts. */
import type { RandomBytes } from '../../../base/shared/clock.ts';

/** If a peer asks for a longer pause, the whole replication begins again later. */
export const LONGEST_PAUSE_MS = 60_000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 20_000;
/** Waits are longer by up to this share, so that clients that failed together don't retry together. */
const JITTER = 0.25;

/** Returns the wait before the next attempt, after `failures` failed ones: it doubles. */
export function backOffMs(failures: number, random: RandomBytes): number {
  const base = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, failures - 1));
  const [byte = 0] = random(new Uint8Array(1));
  return base * (1 + (JITTER * byte) / 256);
}

/** The longest wait: a longer one means something else, and a date may not be able to hold it. */
const LONGEST_ASKED_MS = 86_400_000;

/** Parses a header `Retry-After`: seconds, or a date. Undefined if it is neither. A day at most. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(LONGEST_ASKED_MS, Math.max(0, ms));
}

/** Resolves after `ms`; rejects with the signal's reason if it aborts first. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
