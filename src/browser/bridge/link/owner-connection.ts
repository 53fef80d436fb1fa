/**
 * One connection to one owner, over its channel or a port that it offered: the requests that were sent on it and are not settled, and whether the
 * owner gives signs of life on it.
 */
import { toMovable } from '../body-streams.ts';
import { type BodyStep, type Payload, PROTOCOL, type ToOwner } from '../wire.ts';
import type { PendingRequest } from './pending-request.ts';

/** Ticks of silence after which the first ping is sent, with one more at each tick: a second. */
const FIRST_PING = 2;
/** Three pings without a response. A worker that takes the storage over first pings the owner itself. */
const SILENT_AT = FIRST_PING + 3;
/** An owner that has a successor gets less time: one ping. */
const SILENT_AT_WHEN_REPLACED = FIRST_PING + 1;

export interface ConnectionOptions {
  readonly owner: string;
  /** Opened for this connection, which closes it. */
  readonly way: BroadcastChannel | MessagePort;
  /** The name of the link on it. */
  readonly from: string;
  /** The owner's id for its channel, another name for a port. */
  readonly key: string;
}

export class OwnerConnection {
  readonly id: string;
  readonly key: string;
  /** Sent and not settled, by their numbers. */
  readonly requests = new Map<number, PendingRequest>();
  /** Another owner has taken over from it, or will: it is sent nothing new, and may still answer what it has. */
  isReplaced = false;
  /** It answers nothing more, except with messages that are already on their way. */
  isLost = false;
  /** For a port: how often in a row the owner was heard on its channel while the port stayed silent. */
  answersElsewhere = 0;
  /** Whether anything was heard since `probe`. */
  hasSpoken = false;
  readonly #way: BroadcastChannel | MessagePort;
  readonly #from: string;
  readonly #ended = new AbortController();
  /** Ticks since the last message. */
  #quietTicks = 0;
  /** Requests whose responses have arrived, and that the owner must still be told of. */
  #received: number[] = [];

  constructor({ owner, way, from, key }: ConnectionOptions) {
    this.id = owner;
    this.key = key;
    this.#way = way;
    this.#from = from;
  }

  get isPort(): boolean {
    return this.key !== this.id;
  }

  get isSilent(): boolean {
    return this.#quietTicks >= (this.isReplaced ? SILENT_AT_WHEN_REPLACED : SILENT_AT);
  }

  /** Calls `onGone` when the lock of the owner's life is free. */
  watch(locks: LockManager, aliveLock: string, onGone: () => void): void {
    const { signal } = this.#ended;
    const ignoreAbort = (): void => {};
    locks.request(aliveLock, { mode: 'shared', signal }, onGone).catch(ignoreAbort);
  }

  /** Throws if a part of the message can't be cloned. */
  post(message: Payload<ToOwner>): void {
    if (!this.#ended.signal.aborted) this.#way.postMessage(this.#toMessage(message));
  }

  /** Sends a step of a body. `isMovable`: see `StepPipe`. Channels, which may have several listeners, move nothing. */
  postStep(stream: string, step: BodyStep, isMovable: boolean): void {
    if (!(this.#way instanceof MessagePort)) {
      this.post({ kind: 'body', stream, step });
    } else if (!this.#ended.signal.aborted) {
      const { step: moved, transfer } = toMovable(step, isMovable);
      this.#way.postMessage(this.#toMessage({ kind: 'body', stream, step: moved }), transfer);
    }
  }

  /** The owner must be told that this request's response has arrived: with the next request, or the next `confirm`. */
  noteReceived(id: number): void {
    this.#received.push(id);
  }

  /** Returns what a request must report to the owner. */
  takeReceived(): { readonly received?: readonly number[] } {
    return this.#received.length === 0 ? {} : { received: this.#received.splice(0) };
  }

  /** Tells the owner, if no request has done so. */
  confirm(): void {
    const { received } = this.takeReceived();
    if (received !== undefined) this.post({ kind: 'received', received });
  }

  /** To be called for each message of the owner, and when the link begins to expect something from it. */
  heard(): void {
    this.#quietTicks = 0;
    this.answersElsewhere = 0;
    this.hasSpoken = true;
  }

  /** Asks for a sign of life, in addition to the pings of `tick`. */
  probe(): void {
    this.hasSpoken = false;
    this.post({ kind: 'ping' });
  }

  /** To be called every half second while the link expects anything from the owner. */
  tick(): void {
    this.#quietTicks++;
    if (this.#quietTicks >= FIRST_PING) this.post({ kind: 'ping', pending: [...this.requests.keys()] });
  }

  end(): void {
    this.#ended.abort();
    this.#way.close();
  }

  #toMessage(message: Payload<ToOwner>): ToOwner {
    return { protocol: PROTOCOL, from: this.#from, ...message };
  }
}
