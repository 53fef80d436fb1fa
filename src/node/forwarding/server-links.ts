import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Log } from '../../base/system/contract.ts';
import { Connection, type ConnectionOptions, type ConnectionTexts } from './connection.ts';
import { dialServer } from './dial-server.ts';
import { FOLLOW, frameOf, type SentSettings } from './frames.ts';
import { BEAT_MS } from './heartbeat.ts';
import { assertKey } from './link-proof.ts';

/** Between two attempts, in milliseconds: the first wait, doubled each time, and the longest. */
const RETRY_MS = 50;
const MAX_RETRY_MS = 2_000;
/** A fault is logged when it happens for so many times in succession: a server that stops or starts also breaks off what it has begun. */
const FAULTS_LOGGED = 2;

export interface ServerLinksOptions extends Pick<ConnectionOptions, 'headersFor' | 'waitMs'> {
  /** What all servers of the cluster know, and nobody else: 32 bytes in hex. */
  readonly key: string;
  readonly log: Log;
  /** PEM certificates of the certificate authorities to trust. Default: those that Node trusts. */
  readonly ca?: string | undefined;
  /** See `followSettings`. */
  readonly onSettings?: ((sent: SentSettings) => void) | undefined;
  /** What responses say of the other server. */
  readonly texts?: Partial<Omit<ConnectionTexts, 'notConnected'>> | undefined;
  /** Milliseconds in which the other end has to answer and to prove itself. Default: 5,000. */
  readonly proofMs?: number | undefined;
  /** Milliseconds between two beats: a server that sends nothing for six of them is lost (`Heartbeat`). Default: 1,000. */
  readonly beatMs?: number | undefined;
}

/** Requests that are sent to other servers. Each address is the URL of one, always in the same spelling. */
export interface ServerLinks {
  /**
   * Sends a request to the server at that address, with one more hop. While that one is not connected, requests wait, five seconds at most; then the response is
   * 503 `service_unavailable` (`errorCode`: `shutting_down`; `not_owner`, and at once, if `retain` leaves it out meanwhile), and nothing was processed. If the connection is lost while a request that may have effects is
   * under way, the response is 503 with `errorCode` `write_outcome_unknown`. GET and HEAD are sent a second time. Rejects with `cancelled` if the client
   * goes away.
   */
  forward(address: string, request: PlainRequest): MaybePromise<PlainResponse>;
  /** Whether the server at that address takes requests. */
  isConnected(address: string): boolean;
  /** Keeps connections to these addresses only. Those to others are closed when what is under way on them has ended. */
  retain(addresses: Iterable<string>): void;
  /**
   * `onSettings` is called with all settings of the server at that address: when it takes requests, and after each change, before any response that was made
   * later. The connection is kept. Undefined: no server's.
   */
  followSettings(address: string | undefined): void;
  /** Has that server send its settings again: `onSettings` is called. Nothing happens while it is not connected. */
  askForSettings(): void;
  /** Requests that are not answered get 503. */
  close(): void;
}

const TEXTS = {
  unavailable:
    'The server that owns the database does not answer; it may be starting again, or another one takes over. The request was not processed. Send it again in a moment.',
  outcomeUnknown:
    'The server that owns the database ended, or can no longer be reached, and it worked on this request. If the request writes, it is unknown whether that was stored: read it before you send the request again.',
  brokenOff: 'The server that owns the database ended, or can no longer be reached, and it was sending the response.',
};

/** Fails if the key is not 32 bytes in hex. */
export function createServerLinks(options: ServerLinksOptions): ServerLinks {
  assertKey(options.key);
  return new Links(options);
}

class Links implements ServerLinks {
  readonly #options: ServerLinksOptions;
  readonly #connections = new Map<string, Connection>();
  #retained = new Set<string>();
  #followed: string | undefined;
  #isClosed = false;

  constructor(options: ServerLinksOptions) {
    this.#options = options;
  }

  forward(address: string, request: PlainRequest): MaybePromise<PlainResponse> {
    return this.#to(address).handle(request);
  }

  isConnected(address: string): boolean {
    return this.#connections.get(address)?.link !== undefined;
  }

  retain(addresses: Iterable<string>): void {
    if (this.#isClosed) return;
    this.#retained = new Set(addresses);
    for (const address of this.#retained) this.#to(address).wake();
    for (const [address, connection] of this.#connections) {
      if (this.#isKept(address)) continue;
      if (connection.isDormant) this.#connections.delete(address);
      else connection.leave();
    }
  }

  followSettings(address: string | undefined): void {
    const former = this.#followed;
    if (this.#isClosed || former === address) return;
    this.#followed = address;
    if (former !== undefined) {
      const connection = this.#connections.get(former);
      connection?.link?.send(frameOf(FOLLOW, 0, new Uint8Array([0])));
      if (!this.#isKept(former)) connection?.leave();
    }
    if (address === undefined) return;
    // One that is not connected yet asks for them when it is.
    const connection = this.#to(address);
    connection.link?.send(frameOf(FOLLOW, 0, new Uint8Array([1])));
    connection.wake();
  }

  askForSettings(): void {
    if (this.#followed !== undefined) this.#to(this.#followed).link?.send(frameOf(FOLLOW, 0, new Uint8Array([1])));
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections.values()) connection.close();
  }

  #isKept(address: string): boolean {
    return this.#retained.has(address) || this.#followed === address;
  }

  #to(address: string): Connection {
    let connection = this.#connections.get(address);
    if (connection === undefined) {
      connection = this.#connect(address);
      this.#connections.set(address, connection);
      if (this.#isClosed) connection.close();
    }
    return connection;
  }

  #connect(address: string): Connection {
    const { key, log, ca, headersFor, waitMs, proofMs, beatMs = BEAT_MS, texts, onSettings } = this.#options;
    const faults = new Faults(address, log);
    const dial = dialServer({
      ...{ address, key, ca, proofMs, onFault: (reason) => faults.add(reason) },
      isFollowing: () => this.#followed === address,
      onSettings: (sent) => {
        if (this.#followed === address) onSettings?.(sent);
      },
    });
    return new Connection({
      dial: (events) =>
        dial({
          ...events,
          onReady: (link) => {
            faults.clear();
            events.onReady(link);
          },
        }),
      texts: { ...TEXTS, ...texts, notConnected: `the server at ${address} is not connected` },
      ...{ log, headersFor, waitMs, beatMs, hops: 1 },
      isKept: () => this.#isKept(address),
      retryMs: (failures) => Math.min(MAX_RETRY_MS, RETRY_MS * 2 ** failures),
    });
  }
}

/** Logs once why a server can't be reached until somebody does something about it. */
class Faults {
  readonly #address: string;
  readonly #log: Log;
  #reason = '';
  #count = 0;

  constructor(address: string, log: Log) {
    this.#address = address;
    this.#log = log;
  }

  add(reason: string): void {
    this.#count = reason === this.#reason ? this.#count + 1 : 1;
    this.#reason = reason;
    if (this.#count === FAULTS_LOGGED) this.#log.error(`The server at ${this.#address} can't be reached. ${reason}`);
  }

  clear(): void {
    this.#count = 0;
  }
}
