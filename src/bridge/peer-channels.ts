import type { Instance } from './contract.ts';
import { channelName } from './instance.ts';

/** Channels that are kept; nobody tells when a peer is gone. */
const KEPT = 64;

/** The channels of those who ask, opened when they are first answered. The one that was not used for longest goes first. */
export class PeerChannels {
  readonly #instance: Instance;
  readonly #channels = new Map<string, BroadcastChannel>();
  #lastPeer = '';

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  post(peer: string, message: unknown): void {
    this.#channel(peer).postMessage(message);
  }

  close(): void {
    for (const channel of this.#channels.values()) channel.close();
    this.#channels.clear();
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
