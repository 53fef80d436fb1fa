import type { Instance } from '../contract.ts';
import { channelName } from '../instance.ts';

/** Channels that are kept; nobody tells when a peer is gone. */
const KEPT = 64;

/**
 * The ways to those who ask: a port where there is one, else a channel, opened when it is first needed. The channel that was not used for
 * longest goes first.
 */
export class PeerChannels {
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

  /** Nothing that comes in over it is heard any more, not even what is there already. */
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
    if (this.#channels.size > KEPT) this.#closeOldest();
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
