import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { Socket } from 'node:net';
import { messageOf } from '../../base/errors/database-error.ts';
import { KEEP_ALIVE_MS, LINK_PATH, PROOF_MS } from './accepted-links.ts';
import type { Dial, DialEvents } from './connection.ts';
import {
  FOLLOW,
  frameOf,
  GREETING,
  LEAVE,
  MAX_GREETING_BYTES,
  NONCE,
  PING,
  PONG,
  PROOF,
  PROTOCOL,
  SETTINGS,
  type SentSettings,
} from './frames.ts';
import { Link } from './link.ts';
import { createNonce, greetingOf, isNonce, isProof, proofOf, toServerAddress } from './link-proof.ts';

export interface ServerDialOptions {
  readonly address: string;
  readonly key: string;
  /** PEM certificates of the certificate authorities to trust. Default: those that Node trusts. */
  readonly ca?: string | undefined;
  /** Default: 5,000. */
  readonly proofMs?: number | undefined;
  /** Whether the settings are wanted, when the other end takes requests. */
  readonly isFollowing: () => boolean;
  readonly onSettings: (sent: SentSettings) => void;
  /** Called with what to log if the connection will fail again until somebody does something about it. */
  readonly onFault: (reason: string) => void;
}

/** Connects to another server of the cluster. Both ends prove that they know its key. */
export function dialServer(options: ServerDialOptions): Dial {
  return (events) => new ServerAttempt(options, events);
}

class ServerAttempt {
  readonly #options: ServerDialOptions;
  readonly #events: DialEvents;
  readonly #deadline: NodeJS.Timeout;
  #outgoing: ClientRequest | undefined;
  #link: Link | undefined;
  /** Empty until it was sent. */
  #greeting = '';
  #nonce: string | undefined;
  #isReady = false;
  /** Whether the attempt has failed; its connection may still be open. */
  #isOver = false;
  #hasEnded = false;

  constructor(options: ServerDialOptions, events: DialEvents) {
    this.#options = options;
    this.#events = events;
    const { proofMs = PROOF_MS } = options;
    this.#deadline = setTimeout(() => this.#fail('it did not answer in time'), proofMs);
    try {
      this.#outgoing = this.#ask(toServerAddress(options.address));
    } catch (error) {
      setImmediate(() => this.#fail(messageOf(error)));
    }
  }

  destroy(): void {
    this.#fail(undefined);
  }

  #ask(address: string): ClientRequest {
    const { ca } = this.#options;
    const url = new URL(LINK_PATH.slice(1), address);
    const headers = { Connection: 'Upgrade', Upgrade: PROTOCOL };
    const outgoing =
      url.protocol === 'https:'
        ? httpsRequest(url, { headers, agent: false, ...(ca !== undefined && { ca }) })
        : httpRequest(url, { headers, agent: false });
    outgoing.once('upgrade', (_response, socket, head) => {
      // What Node passes is the connection itself.
      if (socket instanceof Socket) this.#greet(socket, head, address);
      else this.#fail('its connection is of an unknown kind');
    });
    outgoing.once('response', ({ statusCode }) => {
      // 503: it has too many connections, starts or stops.
      if (statusCode !== 503)
        this.#blame(
          `It answers with ${statusCode} instead of changing to ${PROTOCOL}: it is of another version, or does not belong to the cluster.`,
        );
      this.#fail(`it answers with ${statusCode}`);
    });
    outgoing.on('error', (error) => {
      if (isOfCertificate(error)) {
        this.#blame(
          `Its certificate is not trusted: ${error.message}. Start this server with NODE_EXTRA_CA_CERTS=FILE in its environment, where FILE is that certificate, or its issuer's, in PEM.`,
        );
      }
      this.#fail(error.message);
    });
    outgoing.end();
    return outgoing;
  }

  #greet(socket: Socket, head: Buffer, address: string): void {
    if (this.#isOver) {
      socket.destroy();
      return;
    }
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    if (head.length > 0) socket.unshift(head);
    const link = new Link(
      socket,
      { onFrame: (kind, id, payload) => this.#take(link, kind, id, payload), onClose: (why) => this.#closed(why) },
      MAX_GREETING_BYTES,
    );
    this.#link = link;
    this.#greeting = greetingOf(createNonce(), address);
    link.send(frameOf(GREETING, 0, this.#greeting));
  }

  #take(link: Link, kind: number, id: number, payload: Buffer): void {
    if (!this.#isReady) this.#prove(link, kind, payload.toString());
    else if (kind === PING) link.send(frameOf(PONG, 0));
    else if (kind === LEAVE) this.#events.onLeave();
    else if (kind === SETTINGS) this.#options.onSettings(JSON.parse(payload.toString()));
    else this.#events.onFrame(kind, id, payload);
  }

  #prove(link: Link, kind: number, text: string): void {
    const { key, isFollowing } = this.#options;
    if (kind === NONCE && this.#nonce === undefined && isNonce(text)) {
      this.#nonce = text;
      link.send(frameOf(PROOF, 0, proofOf(key, 'connecting', this.#greeting, text)));
    } else if (kind === PROOF && this.#nonce !== undefined) {
      if (!isProof(text, key, 'connected', this.#greeting, this.#nonce)) {
        this.#blame('It does not know the key of this cluster.');
        this.#fail('it does not know the key of this cluster');
        return;
      }
      clearTimeout(this.#deadline);
      this.#isReady = true;
      link.takeLongFrames();
      // Before any request: its response may depend on them.
      if (isFollowing()) link.send(frameOf(FOLLOW, 0, new Uint8Array([1])));
      this.#events.onReady(link);
    } else this.#fail('it does not speak the same protocol');
  }

  #closed(why: string | undefined): void {
    if (!this.#isReady && !this.#isOver && this.#nonce !== undefined) {
      this.#blame(
        'It closed the connection instead of proving that it knows the key of this cluster: it has another key, or another address than this one; its log says which.',
      );
    }
    this.#end(why);
  }

  /** `reason`: see `onFault`. */
  #blame(reason: string): void {
    if (!this.#isOver) this.#options.onFault(reason);
  }

  #fail(why: string | undefined): void {
    if (this.#link !== undefined) {
      if (!this.#isReady) this.#isOver = true;
      this.#link.destroy(why);
      return;
    }
    this.#end(why);
  }

  #end(why: string | undefined): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#isOver = true;
    clearTimeout(this.#deadline);
    this.#outgoing?.destroy();
    this.#events.onClose(why);
  }
}

function isOfCertificate(error: Error): boolean {
  const code = 'code' in error ? `${error.code}` : '';
  return /CERT|SIGNED|ISSUER|ALTNAME|^ERR_TLS/.test(code);
}
