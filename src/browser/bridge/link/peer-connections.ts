import { toMovable } from '../body-streams.ts';
import type { Instance } from '../contract.ts';
import { channelName } from '../instance.ts';
import type { BodyStep } from '../wire.ts';

/** How many channels are kept open. The owner does not learn that a peer is gone, so the least recently used channel is closed. */
const MAX_CHANNELS = 64;

/** The connections to those that send requests: a port if there is one, else a channel, opened when it is first needed. */
export class PeerConnections {
  readonly #instance: Instance;
  readonly #channels = new Map<string, BroadcastChannel>();
  readonly #ports = new Map<string, MessagePort>();
  #lastPeer = '';

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  post(peer: string, message: unknown): void {
    (this.#ports.get(peer) ?? this.#channel(peer)).postMessage(message);
  }

  /** Sends a step of a body, in the message that `wrap` builds from it. `isMovable`: see `StepPipe`. */
  postStep(peer: string, step: BodyStep, isMovable: boolean, wrap: (step: BodyStep) => unknown): void {
    const port = this.#ports.get(peer);
    if (port === undefined) {
      this.post(peer, wrap(step));
    } else {
      const { step: moved, transfer } = toMovable(step, isMovable);
      port.postMessage(wrap(moved), transfer);
    }
  }

  /** In the order in which they came. */
  get portPeers(): readonly string[] {
    return [...this.#ports.keys()];
  }

  hasPort(peer: string): boolean {
    return this.#ports.has(peer);
  }

  addPort(peer: string, port: MessagePort): void {
    this.#ports.set(peer, port);
  }

  /** Messages that came over it and were not delivered yet are dropped. */
  closePort(peer: string): void {
    const port = this.#ports.get(peer);
    this.#ports.delete(peer);
    if (port === undefined) return;
    port.onmessage = null;
    port.close();
  }

  close(): void {
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
    for (const peer of this.portPeers) this.closePort(peer);
  }

  #channel(peer: string): BroadcastChannel {
    const known = this.#channels.get(peer);
    if (known !== undefined && peer === this.#lastPeer) return known;
    const channel = known ?? new BroadcastChannel(channelName(this.#instance, peer));
    this.#lastPeer = peer;
    this.#channels.delete(peer);
    this.#channels.set(peer, channel);
    if (this.#channels.size > MAX_CHANNELS) this.#closeOldest();
    return channel;
  }

  #closeOldest(): void {
    const [oldest] = this.#channels;
    if (oldest === undefined) return;
    const [peer, channel] = oldest;
    channel.close();
    this.#channels.delete(peer);
  }
}
