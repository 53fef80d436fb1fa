/**
 * Finds out whether a suspected owner has failed. A crashed or frozen tab says nothing, so silence is the only evidence:
 * an owner that still holds the lock of its life and answers none of three pings has failed, unless it announced work that keeps it
 * from answering. This may be wrong for an owner that is merely slow; the fence in the storage makes that harmless.
 */
import { type Clock, pause } from '../../../base/shared/clock.ts';
import type { Instance } from '../contract.ts';
import { aliveLock, channelName } from '../instance.ts';
import { PROTOCOL, type ToOwner } from '../wire.ts';
import { asFromOwner } from '../wire-codec.ts';
import { isHeld } from './held-lock.ts';

export interface FailureDetectorOptions {
  readonly instance: Instance;
  readonly locks: LockManager;
  readonly clock: Clock;
  /** Milliseconds that an owner has to answer each ping. The sender of the suspicion has already waited far longer. */
  readonly pingMs: number;
}

/** How many pings an owner may leave unanswered. */
const PINGS = 3;

/** An owner that is silent for longer has failed, whatever it announced. */
const MAX_BUSY_MS = 20_000;

export class FailureDetector {
  readonly #options: FailureDetectorOptions;
  /** Owners that are being checked. */
  readonly #checked = new Set<string>();
  /** Until when owners announced that they may be silent, in the clock's monotonic milliseconds. */
  readonly #busyUntil = new Map<string, number>();

  constructor(options: FailureDetectorOptions) {
    this.#options = options;
  }

  /** The owner announced work that may keep it from answering pings for this long. */
  noteBusy(ownerId: string, forMs: number): void {
    const until = this.#options.clock.monotonic() + Math.min(forMs, MAX_BUSY_MS);
    this.#busyUntil.set(ownerId, Math.max(until, this.#busyUntil.get(ownerId) ?? 0));
  }

  /** A new owner is there, so what earlier owners announced no longer counts. */
  forgetBusy(): void {
    this.#busyUntil.clear();
  }

  /** Whether the owner has failed, as far as this worker can tell. Also false if it is already being checked. */
  async hasFailed(ownerId: string): Promise<boolean> {
    if (this.#checked.has(ownerId) || this.#isBusy(ownerId)) return false;
    this.#checked.add(ownerId);
    try {
      return await this.#isSilent(ownerId);
    } finally {
      this.#checked.delete(ownerId);
    }
  }

  #isBusy(ownerId: string): boolean {
    return (this.#busyUntil.get(ownerId) ?? 0) > this.#options.clock.monotonic();
  }

  /**
   * Takes up to four times `pingMs`. Begins after a random pause, so that among many workers that learned of the suspicion at once
   * one acts first, and the others find its work done.
   */
  async #isSilent(ownerId: string): Promise<boolean> {
    const { instance, locks, pingMs } = this.#options;
    const life = aliveLock(instance, ownerId);
    await pause(Math.random() * pingMs);
    if (!(await isHeld(locks, life))) return false;
    return !(await this.#answersPings(ownerId)) && (await isHeld(locks, life));
  }

  async #answersPings(ownerId: string): Promise<boolean> {
    const { instance, pingMs } = this.#options;
    const from = crypto.randomUUID();
    const own = new BroadcastChannel(channelName(instance, from));
    const owner = new BroadcastChannel(channelName(instance, ownerId));
    try {
      const answered = new Promise<true>((resolve) => {
        own.onmessage = ({ data }: MessageEvent<unknown>) => {
          if (asFromOwner(data)?.kind === 'pong') resolve(true);
        };
      });
      for (let missed = 0; missed < PINGS; missed++) {
        const ping: ToOwner = { protocol: PROTOCOL, from, kind: 'ping' };
        owner.postMessage(ping);
        if ((await Promise.race([answered, pause(pingMs)])) === true) return true;
      }
      return false;
    } finally {
      own.close();
      owner.close();
    }
  }
}
