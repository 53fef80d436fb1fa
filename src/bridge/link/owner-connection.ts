/** What a link has with one owner on one way, a channel or a port: the requests that it has, and whether it lives. */

import { type Payload, PROTOCOL, type ToOwner } from '../wire/wire.ts';
import type { PendingRequest } from './pending-request.ts';

/** Ticks of silence after which the first ping goes out, with one more at each tick: a second. */
const FIRST_PING = 2;
/** Three pings without an answer. Whoever takes the storage over looks for itself first. */
const SUSPECT_AT = FIRST_PING + 3;
/** An owner that has a successor isn't waited for as long: one ping. */
const GONE_AT = FIRST_PING + 1;

export interface ConnectionOptions {
  readonly owner: string;
  /** Opened for this connection, which closes it. */
  readonly way: BroadcastChannel | MessagePort;
  /** What the link is called on it. */
  readonly from: string;
  /** The owner's id, or another name where it isn't its channel. */
  readonly key: string;
}

export class OwnerConnection {
  readonly id: string;
  readonly key: string;
  /** Sent and not answered. */
  readonly requests = new Map<number, PendingRequest>();
  /** Another owner has taken its place, or will: it is asked nothing new. */
  isReplaced = false;
  /** It will answer nothing any more, but for what is on its way already. */
  isLost = false;
  /** How often the owner was heard elsewhere while it said nothing here. */
  doubts = 0;
  /** Whether anything was heard since `probe`. */
  hasSpoken = false;
  readonly #way: BroadcastChannel | MessagePort;
  readonly #from: string;
  readonly #ended = new AbortController();
  /** Ticks since something was heard. */
  #quiet = 0;

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
    return this.#quiet >= (this.isReplaced ? GONE_AT : SUSPECT_AT);
  }

  /** Calls `onGone` when the owner's alive lock is free. */
  watch(locks: LockManager, aliveLock: string, onGone: () => void): void {
    const { signal } = this.#ended;
    const ignoreAbort = (): void => {};
    locks.request(aliveLock, { mode: 'shared', signal }, onGone).catch(ignoreAbort);
  }

  /** Throws where a part of the message can't be cloned. */
  post(message: Payload<ToOwner>): void {
    if (!this.#ended.signal.aborted) this.#way.postMessage({ protocol: PROTOCOL, from: this.#from, ...message });
  }

  heard(): void {
    this.#quiet = 0;
    this.doubts = 0;
    this.hasSpoken = true;
  }

  probe(): void {
    this.hasSpoken = false;
    this.post({ kind: 'ping' });
  }

  /** Called every half second while anything is expected of the owner. */
  tick(): void {
    this.#quiet++;
    if (this.#quiet >= FIRST_PING) this.post({ kind: 'ping', pending: [...this.requests.keys()] });
  }

  end(): void {
    this.#ended.abort();
    this.#way.close();
  }
}
