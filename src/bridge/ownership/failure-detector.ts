import type { Instance } from '../contract.ts';
import { aliveLock, channelName } from '../instance.ts';
import { PROTOCOL, type ToOwner } from '../wire/wire.ts';
import { asFromOwner } from '../wire/wire-decoding.ts';
import { isHeld } from './held-lock.ts';
import { pause } from './leadership.ts';

export interface SuspicionParts {
  readonly instance: Instance;
  readonly locks: LockManager;
  /** Milliseconds that each of the pings has. Whoever suspected the owner has waited far longer for it already. */
  readonly pingMs: number;
}

/** Pings that an owner may miss. */
const PINGS = 3;

/**
 * Whether an owner that somebody suspects is dead to this worker as well: it still holds the lock of its life, and answers none of
 * three pings. Takes up to four times `pingMs`; begins after a moment of random length, so that among many that
 * were told one acts first, and the others find its work done.
 */
export async function isSilent(parts: SuspicionParts, ownerId: string): Promise<boolean> {
  const { instance, locks, pingMs } = parts;
  const life = aliveLock(instance, ownerId);
  await pause(Math.random() * pingMs);
  if (!(await isHeld(locks, life))) return false;
  return !(await answersPings(instance, ownerId, pingMs)) && (await isHeld(locks, life));
}

async function answersPings(instance: Instance, ownerId: string, pingMs: number): Promise<boolean> {
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
