/**
 * Bounds the memory for peers' responses in all replications together: text being read, values made from it, and what
 * runs keep of it until it is written. Users share it. When it is used up, the user who holds the most loses the run that holds the most, if that
 * makes room for another user; runs of one user wait for each other.
 */
import type { ByteBudget, ByteLease } from '../base/shared/byte-budget.ts';
import { ReplicationError } from './failure.ts';

/** Peers get the bytes for requests and peers together, divided by this number. */
const PART = 2;
const MAX_WAIT_MS = 30_000;

interface Waiter {
  readonly share: MemoryShare;
  readonly bytes: number;
  settle(): void;
}

export class PeerMemory {
  #used = 0;
  /** Counts what peers hold as bytes in flight, so that requests take less in the meantime. */
  readonly #lease: ByteLease | undefined;
  readonly #byUser = new Map<string, number>();
  /** The shares that hold bytes, in the order in which they began to. */
  readonly #holding = new Set<MemoryShare>();
  readonly #waiting = new Set<Waiter>();

  readonly #bytes: () => number;

  /** `bytes`: what requests and peers may have together, called each time. `budget`: where the bytes that peers hold are counted. */
  constructor(bytes: () => number, budget?: ByteBudget) {
    this.#bytes = bytes;
    this.#lease = budget?.open();
  }

  /** In bytes. */
  get used(): number {
    return this.#used;
  }

  get #limit(): number {
    return Math.floor(this.#bytes() / PART);
  }

  /** `user`: the run's user. `onFailure` is called if the run has to end, since others need the memory. */
  open(user: string, onFailure: (failure: ReplicationError) => void): MemoryShare {
    return new MemoryShare(this, user, onFailure);
  }

  /** Called only by shares. Undefined if the bytes are available at once. */
  hold(share: MemoryShare, bytes: number): Promise<void> | undefined {
    const limit = this.#limit;
    if (share.bytes + bytes > limit) throw share.fail(tooMuch(share.bytes + bytes, limit));
    if (this.#fits(share, bytes, limit)) {
      this.#grant(share, bytes);
      return undefined;
    }
    const heaviest = this.#heaviestUser();
    if (heaviest !== undefined && heaviest.user !== share.user && heaviest.bytes > this.#of(share.user) + bytes) {
      this.#heaviestShare(heaviest.user)?.fail(givesWay());
      this.#grant(share, bytes);
      return undefined;
    }
    return this.#wait(share, bytes);
  }

  free(share: MemoryShare, bytes: number): void {
    share.bytes -= bytes;
    this.#used -= bytes;
    this.#lease?.add(-bytes);
    // Requests may wait for these bytes.
    this.#lease?.settle();
    const left = this.#of(share.user) - bytes;
    if (left > 0) this.#byUser.set(share.user, left);
    else this.#byUser.delete(share.user);
    if (share.bytes === 0) this.#holding.delete(share);
    this.#serve();
  }

  /** For a share that has ended: it no longer needs what it waits for. */
  forget(share: MemoryShare): void {
    for (const waiter of this.#waiting) if (waiter.share === share) waiter.settle();
  }

  /** The oldest share may always grow: it can finish then, so there is no deadlock. */
  #fits(share: MemoryShare, bytes: number, limit: number): boolean {
    const [oldest = share] = this.#holding;
    return this.#used + bytes <= limit || oldest === share;
  }

  #grant(share: MemoryShare, bytes: number): void {
    share.bytes += bytes;
    this.#used += bytes;
    this.#lease?.add(bytes);
    this.#byUser.set(share.user, this.#of(share.user) + bytes);
    this.#holding.add(share);
  }

  #of(user: string): number {
    return this.#byUser.get(user) ?? 0;
  }

  #heaviestUser(): { readonly user: string; readonly bytes: number } | undefined {
    let heaviest: { readonly user: string; readonly bytes: number } | undefined;
    for (const [user, bytes] of this.#byUser) if (bytes > (heaviest?.bytes ?? 0)) heaviest = { user, bytes };
    return heaviest;
  }

  #heaviestShare(user: string): MemoryShare | undefined {
    let heaviest: MemoryShare | undefined;
    for (const share of this.#holding) {
      const isOpen = share.user === user && share.failure === undefined;
      if (isOpen && share.bytes > (heaviest?.bytes ?? 0)) heaviest = share;
    }
    return heaviest;
  }

  #wait(share: MemoryShare, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(waiter);
        reject(share.fail(givesWay()));
      }, MAX_WAIT_MS);
      const settle = () => {
        clearTimeout(timer);
        this.#waiting.delete(waiter);
        if (share.failure === undefined) resolve();
        else reject(share.failure);
      };
      const waiter: Waiter = { share, bytes, settle };
      this.#waiting.add(waiter);
    });
  }

  #serve(): void {
    if (this.#waiting.size === 0) return;
    const limit = this.#limit;
    for (const waiter of this.#waiting) {
      if (!this.#fits(waiter.share, waiter.bytes, limit)) continue;
      this.#grant(waiter.share, waiter.bytes);
      waiter.settle();
    }
  }
}

/** The memory that one run holds. */
export class MemoryShare {
  readonly user: string;
  /** Changed only by `PeerMemory`. */
  bytes = 0;
  readonly #memory: PeerMemory;
  readonly #onFailure: (failure: ReplicationError) => void;
  #failure: ReplicationError | undefined;

  constructor(memory: PeerMemory, user: string, onFailure: (failure: ReplicationError) => void) {
    this.#memory = memory;
    this.user = user;
    this.#onFailure = onFailure;
  }

  /** Why it gets no more memory. */
  get failure(): ReplicationError | undefined {
    return this.#failure;
  }

  /** Takes bytes; undefined if they are available at once. Fails with `ReplicationError` if they are not available. */
  hold(bytes: number): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#memory.hold(this, bytes);
  }

  /** Frees some bytes. */
  free(bytes: number): void {
    const held = Math.min(bytes, this.bytes);
    if (held > 0) this.#memory.free(this, held);
  }

  /** Ends the run that has it. Returns the failure that counts: the first one. */
  fail(failure: ReplicationError): ReplicationError {
    if (this.#failure !== undefined) return this.#failure;
    this.#failure = failure;
    this.#memory.forget(this);
    this.#onFailure(failure);
    return failure;
  }

  /** Frees all bytes. */
  end(): void {
    this.#failure ??= givesWay();
    this.#memory.forget(this);
    this.free(this.bytes);
  }
}

const SETTING = 'httpd/max_bytes_in_flight';

function tooMuch(bytes: number, limit: number): ReplicationError {
  const reason = `The peer's responses take at least ${bytes} bytes of memory. Those of all peers together may take ${limit}, half of the setting ${SETTING}.`;
  return new ReplicationError('replication_failed', reason, { isRetryable: true });
}

function givesWay(): ReplicationError {
  const reason = `The responses of peers take all the memory that they may, half of the setting ${SETTING}. This replication stops, so that others can continue.`;
  return new ReplicationError('replication_failed', reason, { isRetryable: true });
}
