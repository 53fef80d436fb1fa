import { createConnection } from 'node:net';
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Log } from '../../base/system/contract.ts';
import { toStream, toWhole } from './bodies.ts';
import { type Exchange, OpenExchange } from './exchange.ts';
import {
  CANCEL,
  CHUNK,
  CREDIT,
  END,
  FAIL,
  frameOf,
  HELLO,
  PROTOCOL,
  REPORT,
  RESPONSE,
  type ReaderReport,
  SETTINGS,
  type SentSettings,
} from './frames.ts';
import { Link } from './link.ts';

/** How long a request waits for the owner while that restarts. */
const WAIT_MS = 5_000;
/** How long to wait between two attempts to connect. */
const RETRY_MS = 50;
/** Requests that take longer than this, or twice as long, notice that their client has gone. */
const LOOK_MS = 250;
/** Requests without effects, which may be sent a second time. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

export interface ForwarderOptions {
  /** Of the owner's socket. */
  readonly path: string;
  readonly secret: string;
  readonly log: Log;
  /** Called with all settings when the owner takes requests, and after each change, before any response that was made later. */
  readonly onSettings?: ((sent: SentSettings) => void) | undefined;
  /** Headers of the responses that are made here. Default: none. */
  readonly headersFor?: ((request: PlainRequest) => Readonly<Record<string, string>>) | undefined;
  /** Milliseconds that a request waits for the owner. Default: 5,000. */
  readonly waitMs?: number | undefined;
}

export interface Forwarder {
  /**
   * Sends a request to the process that owns the databases. While it restarts, requests wait for it; then the response is 503 `service_unavailable`.
   * If it ends while it works on a request that may have effects, the response is 503, and says that the outcome is unknown. Rejects with
   * `cancelled` if the client goes away.
   */
  readonly handle: Handle;
  /** Whether the owner takes requests. */
  readonly isConnected: boolean;
  /** Resolves when it does, at the latest after that many milliseconds, with whether it does. */
  whenConnected(waitMs?: number): Promise<boolean>;
  /** Returns false if the owner is not there; then nothing was sent. */
  report(report: ReaderReport): boolean;
  /** Requests that are not answered get 503. */
  close(): void;
}

export function createForwarder(options: ForwarderOptions): Forwarder {
  return new OwnerConnection(options);
}

/** Keeps one connection to the owner, and connects again when it has ended. */
class OwnerConnection implements Forwarder {
  readonly #options: ForwarderOptions;
  readonly #exchanges = new Map<number, Exchange>();
  readonly #waiting = new Set<(isConnected: boolean) => void>();
  /** Undefined until the owner takes requests. */
  #link: Link | undefined;
  #connecting: Link | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Defined while requests are under way. */
  #looking: NodeJS.Timeout | undefined;
  #lastId = 0;
  #isClosed = false;
  /** The last reason that was logged: attempts fail again and again. */
  #lastFault: string | undefined;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#connect();
  }

  readonly handle: Handle = (request) => {
    const link = this.#link;
    return link === undefined ? this.#handleLater(request) : this.#send(link, request);
  };

  get isConnected(): boolean {
    return this.#link !== undefined;
  }

  whenConnected(waitMs = this.#options.waitMs ?? WAIT_MS): Promise<boolean> {
    if (this.#link !== undefined || this.#isClosed) return Promise.resolve(this.#link !== undefined);
    return new Promise((resolve) => {
      const settle = (isConnected: boolean) => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        resolve(isConnected);
      };
      const timer = setTimeout(() => settle(false), waitMs);
      this.#waiting.add(settle);
    });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#looking);
    this.#connecting?.destroy();
    this.#link?.end();
    for (const settle of this.#waiting) settle(false);
  }

  report(report: ReaderReport): boolean {
    const link = this.#link;
    link?.send(frameOf(REPORT, 0, JSON.stringify(report)));
    return link !== undefined;
  }

  async #handleLater(request: PlainRequest): Promise<PlainResponse> {
    await this.whenConnected();
    const link = this.#link;
    return link === undefined ? this.#unavailable(request) : this.#send(link, request);
  }

  async #send(link: Link, request: PlainRequest, isAgain = false): Promise<PlainResponse> {
    const id = this.#nextId();
    const whole = toWhole(request.body);
    const stream = whole === undefined ? toStream(request.body) : undefined;
    const exchange = new OpenExchange(link, id, () => this.#exchanges.delete(id));
    this.#exchanges.set(id, exchange);
    this.#looking ??= setTimeout(() => this.#look(), LOOK_MS);
    const response = await exchange.run(request, whole, stream);
    if (response !== undefined) return response;
    if (!SAFE_METHODS.has(request.method)) return this.#outcomeUnknown(request);
    return isAgain || stream !== undefined ? this.#unavailable(request) : this.#sendAgain(request);
  }

  async #sendAgain(request: PlainRequest): Promise<PlainResponse> {
    await this.whenConnected();
    const link = this.#link;
    return link === undefined ? this.#unavailable(request) : this.#send(link, request, true);
  }

  #look(): void {
    for (const exchange of [...this.#exchanges.values()]) exchange.look();
    this.#looking = this.#exchanges.size === 0 ? undefined : setTimeout(() => this.#look(), LOOK_MS);
  }

  #nextId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0;
    while (this.#exchanges.has(this.#lastId));
    return this.#lastId;
  }

  #connect(): void {
    const { path, secret } = this.#options;
    const socket = createConnection(path);
    const link: Link = new Link(socket, {
      onFrame: (kind, id, payload) => this.#take(link, kind, id, payload),
      onClose: (why) => this.#closed(link, why),
    });
    this.#connecting = link;
    socket.once('connect', () => link.send(frameOf(HELLO, 0, `${PROTOCOL} ${secret}`)));
  }

  #take(link: Link, kind: number, id: number, payload: Buffer): void {
    if (kind === SETTINGS) {
      this.#options.onSettings?.(JSON.parse(payload.toString()));
      if (this.#link !== link) this.#ready(link);
      return;
    }
    // It may have ended a moment ago.
    const exchange = this.#exchanges.get(id);
    if (exchange === undefined) return;
    if (kind === RESPONSE) exchange.respond(payload);
    else if (kind === CHUNK) exchange.chunk(payload);
    else if (kind === END) exchange.end(payload);
    else if (kind === FAIL) exchange.fail(payload);
    else if (kind === CREDIT) exchange.grant(payload.readUInt32BE(0));
    else if (kind === CANCEL) exchange.stopBody(payload.readUInt8(0) === 1);
  }

  #ready(link: Link): void {
    this.#link = link;
    this.#connecting = undefined;
    this.#lastFault = undefined;
    for (const settle of this.#waiting) settle(true);
  }

  #closed(link: Link, why: string | undefined): void {
    const wasReady = this.#link === link;
    if (wasReady) this.#link = undefined;
    this.#connecting = undefined;
    for (const exchange of [...this.#exchanges.values()]) exchange.lose(link);
    if (this.#isClosed) return;
    this.#report(wasReady ? (why ?? 'it has ended') : why);
    // Another process takes over at once.
    this.#retry = setTimeout(() => this.#connect(), wasReady ? 0 : RETRY_MS);
  }

  #report(why: string | undefined): void {
    if (why === undefined || why === this.#lastFault) return;
    this.#lastFault = why;
    this.#options.log.debug(`the process that owns the databases is not connected: ${why}`);
  }

  #unavailable(request: PlainRequest): PlainResponse {
    const reason =
      'The process that owns the databases does not answer; it may be starting again. The request was not processed. Send it again in a moment.';
    return this.#answer(request, 'shutting_down', reason);
  }

  #outcomeUnknown(request: PlainRequest): PlainResponse {
    const { code, reason } = new DatabaseError(
      'write_outcome_unknown',
      'The process that owns the databases ended while it worked on this request. If the request writes, it is unknown whether that was stored: read it before you send the request again.',
    );
    return this.#answer(request, code, reason);
  }

  #answer(request: PlainRequest, errorCode: string, reason: string): PlainResponse {
    const headers = {
      ...{ 'content-type': 'application/json', 'cache-control': 'no-store', 'retry-after': '1' },
      ...this.#options.headersFor?.(request),
    };
    return { status: 503, headers, errorCode, body: `${JSON.stringify({ error: 'service_unavailable', reason })}\n` };
  }
}
