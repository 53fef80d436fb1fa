import type { Socket } from 'node:net';
import { Entrance } from '../http/fair-work.ts';
import type { Upgrade } from '../http/upgrade.ts';
import { AnsweredLink, type AnsweringOptions } from './answered-link.ts';
import { frameOf, GREETING, LEAVE, MAX_GREETING_BYTES, NONCE, PROOF, PROTOCOL } from './frames.ts';
import { BEAT_MS } from './heartbeat.ts';
import { Link } from './link.ts';
import { assertKey, createNonce, isProof, parseGreeting, proofOf, toServerAddress } from './link-proof.ts';

/** Where servers accept links of others. Nothing else answers there. */
export const LINK_PATH = '/_settee/link';

/** How long the other end may take to prove itself, in milliseconds. */
export const PROOF_MS = 5_000;
/** Links at a time whose other end has not proved itself. */
export const MAX_UNPROVEN_LINKS = 32;
/** Addresses of which it is remembered that a refusal was logged. */
const MAX_LOGGED_ADDRESSES = 256;
/** A silent connection is tested by TCP after that many milliseconds. */
export const KEEP_ALIVE_MS = 10_000;

export interface LinkOptions {
  /** What all servers of the cluster know, and nobody else: 32 bytes in hex. */
  readonly key: string;
  /** The URLs at which the others reach this server. A link that was meant for any other address is refused. Called for each link. */
  readonly addresses: () => readonly string[];
  /** Milliseconds in which the other end has to prove itself. Default: 5,000. */
  readonly proofMs?: number | undefined;
  /** Milliseconds between two beats (`Heartbeat`). Default: 1,000. */
  readonly beatMs?: number | undefined;
}

export interface AcceptingOptions extends AnsweringOptions, LinkOptions {}

/** What takes the frames of a link. */
export interface LinkHandler {
  take(kind: number, id: number, payload: Buffer): void;
  /** The link has ended. */
  end(): void;
}

/** Accepts links of other servers, and answers the requests that come over them once the other end has proved that it knows the key. */
export class AcceptedLinks implements Upgrade {
  readonly path = LINK_PATH;
  readonly protocol = PROTOCOL;
  readonly #options: AcceptingOptions;
  readonly #entrance: Entrance;
  /** Oldest first. */
  readonly #unproven = new Set<ServerLink>();
  readonly #proven = new Set<ServerLink>();
  /** By the address of the other end. */
  readonly #logged = new Set<string>();
  #isClosing = false;

  constructor(options: AcceptingOptions, entrance = new Entrance()) {
    assertKey(options.key);
    this.#options = options;
    this.#entrance = entrance;
  }

  /** Links whose other end has proved itself. */
  get count(): number {
    return this.#proven.size;
  }

  isOffered(): boolean {
    return !this.#isClosing;
  }

  take(socket: Socket, peer: string): void {
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const link: Link = new Link(
      socket,
      {
        onFrame: (kind, id, payload) => handler.take(kind, id, payload),
        onClose: () => handler.end(),
      },
      MAX_GREETING_BYTES,
    );
    const handler = this.expect(link, peer);
  }

  /** A server at the address `peer` should prove itself on that link, which takes only short frames until then. */
  expect(link: Link, peer: string): LinkHandler {
    const expected = new ServerLink(link, peer, {
      ...{ options: this.#options, entrance: this.#entrance },
      onProven: () => {
        this.#unproven.delete(expected);
        this.#proven.add(expected);
        this.#logged.delete(peer);
      },
      onRefused: (reason) => this.#logRefusal(peer, reason),
      onEnd: () => {
        this.#unproven.delete(expected);
        this.#proven.delete(expected);
      },
    });
    if (this.#isClosing) link.destroy();
    else {
      this.#unproven.add(expected);
      if (this.#unproven.size > MAX_UNPROVEN_LINKS) this.#dropOne();
    }
    return expected;
  }

  beginClose(): void {
    this.#isClosing = true;
    for (const link of this.#unproven) link.destroy();
    for (const link of this.#proven) link.leave();
  }

  /** The oldest one from the address that has the most, so that one address with hundreds keeps no other one out. */
  #dropOne(): void {
    const counts = new Map<string, number>();
    for (const { peer } of this.#unproven) counts.set(peer, (counts.get(peer) ?? 0) + 1);
    const most = Math.max(...counts.values());
    for (const link of this.#unproven) {
      if (counts.get(link.peer) !== most) continue;
      this.#unproven.delete(link);
      link.destroy();
      return;
    }
  }

  #logRefusal(peer: string, reason: string): void {
    if (this.#logged.has(peer) || this.#logged.size >= MAX_LOGGED_ADDRESSES) return;
    this.#logged.add(peer);
    this.#options.log.error(reason);
  }
}

interface ServerLinkTraits {
  readonly options: AcceptingOptions;
  readonly entrance: Entrance;
  readonly onProven: () => void;
  /** Called with what to log. */
  readonly onRefused: (reason: string) => void;
  readonly onEnd: () => void;
}

/** The link of another server, which has to prove itself first. */
class ServerLink implements LinkHandler {
  readonly peer: string;
  readonly #link: Link;
  readonly #traits: ServerLinkTraits;
  readonly #nonce = createNonce();
  readonly #deadline: NodeJS.Timeout;
  #greeting: string | undefined;
  #address = '';
  /** Undefined until the other end has proved itself. */
  #answered: AnsweredLink | undefined;

  constructor(link: Link, peer: string, traits: ServerLinkTraits) {
    this.peer = peer;
    this.#link = link;
    this.#traits = traits;
    this.#deadline = setTimeout(() => this.destroy(), traits.options.proofMs ?? PROOF_MS);
  }

  take(kind: number, id: number, payload: Buffer): void {
    if (this.#answered !== undefined) this.#answered.take(kind, id, payload);
    else if (kind === GREETING && this.#greeting === undefined) this.#greet(payload.toString());
    else if (kind === PROOF && this.#greeting !== undefined) this.#prove(this.#greeting, payload.toString());
    else this.destroy();
  }

  end(): void {
    clearTimeout(this.#deadline);
    this.#answered?.end();
    this.#traits.onEnd();
  }

  destroy(): void {
    this.#link.destroy();
  }

  leave(): void {
    this.#link.send(frameOf(LEAVE, 0));
  }

  #greet(greeting: string): void {
    const address = parseGreeting(greeting);
    if (address === undefined) {
      this.destroy();
      return;
    }
    this.#greeting = greeting;
    this.#address = address;
    this.#link.send(frameOf(NONCE, 0, this.#nonce));
  }

  #prove(greeting: string, proof: string): void {
    const { options, entrance, onProven, onRefused } = this.#traits;
    const { key } = options;
    if (!isProof(proof, key, 'connecting', greeting, this.#nonce)) {
      onRefused(
        `Something at ${this.peer} that does not know the key of this cluster has tried to connect as one of its servers, and was refused. It is said once for each address.`,
      );
      this.destroy();
      return;
    }
    // Only now: what it says is believed, and nobody else learns which addresses are right.
    const own = options.addresses().map(toServerAddress);
    if (!own.includes(this.#address)) {
      onRefused(
        `A server of this cluster at ${this.peer} meant to reach ${this.#address}, and has reached this server, which is ${own.join(' or ')}; the link was refused. Start each server with an address in --announce that leads to it alone.`,
      );
      this.destroy();
      return;
    }
    clearTimeout(this.#deadline);
    this.#link.send(frameOf(PROOF, 0, proofOf(key, 'connected', greeting, this.#nonce)));
    const { beatMs = BEAT_MS } = options;
    this.#answered = new AnsweredLink(this.#link, options, { entrance, takesLinks: false, beatMs });
    onProven();
  }
}
