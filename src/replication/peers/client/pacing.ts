/** When requests are sent to a peer: how many at a time, and how long to wait before the next attempt. */
import type { RandomBytes } from '../../../base/shared/clock.ts';

/** If a peer asks for a longer pause, the whole replication begins again later. */
export const MAX_PAUSE_MS = 60_000;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 20_000;
/** Waits are longer by up to this share, so that clients that failed together don't retry together. */
const JITTER = 0.25;

/** Returns the wait before the next attempt, after `failures` failed ones: it doubles. */
export function backOffMs(failures: number, random: RandomBytes): number {
  const base = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, failures - 1));
  const [byte = 0] = random(new Uint8Array(1));
  return base * (1 + (JITTER * byte) / 256);
}

/** The longest wait: a longer one means something else, and a date may not be able to hold it. */
const MAX_ASKED_MS = 86_400_000;

/** Parses a header `Retry-After`: seconds, or a date. Undefined if it is neither. A day at most. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const text = header.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(MAX_ASKED_MS, Math.max(0, ms));
}

/** Resolves after `ms`; rejects with the signal's reason if it aborts first. */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await sleepUntil(ms, signal, undefined);
}

/** Calls back once, and returns a function that ends the wait for it. */
export type NextEvent = (goOn: () => void) => () => void;

/** As `sleep`, but also ends with the event. Resolves to whether that came first. */
export function sleepUntil(ms: number, signal: AbortSignal, event: NextEvent | undefined): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const end = () => {
      clearTimeout(timer);
      stop?.();
      signal.removeEventListener('abort', onAbort);
    };
    const goOn = (hasCome: boolean) => {
      end();
      resolve(hasCome);
    };
    const onAbort = () => {
      end();
      reject(signal.reason);
    };
    const timer = setTimeout(() => goOn(false), ms);
    const stop = event?.(() => goOn(true));
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

/** Successes after which a peer that had reported so gets one more request at a time. */
const SUCCESSES_FOR_MORE = 20;

/** Limits the concurrent requests to a peer: fewer while the peer reports that there are too many. */
export class ConnectionLimit {
  readonly #most: number;
  #limit: number;
  #active = 0;
  #successes = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(most: number) {
    this.#most = Math.max(1, most);
    this.#limit = this.#most;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Waits until the request may be sent; `release` has to be called when it is over. */
  async acquire(): Promise<void> {
    if (this.#active < this.#limit) this.#active++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    this.#active--;
    while (this.#active < this.#limit) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#active++;
      next();
    }
  }

  succeeded(): void {
    if (this.#limit >= this.#most) return;
    this.#successes++;
    if (this.#successes < SUCCESSES_FOR_MORE) return;
    this.#successes = 0;
    this.#limit++;
  }

  /** The peer is overloaded. */
  slowDown(): void {
    this.#successes = 0;
    this.#limit = Math.max(1, Math.floor(this.#limit / 2));
  }
}

/** Returns the result, but fails with the signal's reason as soon as that is aborted. */
export function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    void result.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
