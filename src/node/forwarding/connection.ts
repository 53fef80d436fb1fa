import { DatabaseError } from '../../base/errors/database-error.ts';
import type { Handle, PlainRequest, PlainResponse } from '../../base/shared/message.ts';
import type { Log } from '../../base/system/contract.ts';
import { toStream, toWhole } from './bodies.ts';
import { type Exchange, OpenExchange } from './exchange.ts';
import { CANCEL, CHUNK, CREDIT, END, FAIL, RESPONSE } from './frames.ts';
import { Heartbeat } from './heartbeat.ts';
import type { Link } from './link.ts';

/** How long a request waits for the other end. */
const WAIT_MS = 5_000;
/** How long to wait between two attempts to connect. */
const RETRY_MS = 50;
/** Requests that take longer than this, or twice as long, notice that their client has gone. */
const LOOK_MS = 250;
/** Requests without effects, which may be sent a second time. */
const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'QUERY']);

export interface DialEvents {
  /** The other end takes requests. */
  onReady(link: Link): void;
  /** Of an exchange. */
  onFrame(kind: number, id: number, payload: Buffer): void;
  /** The other end closes soon, and takes no more requests. */
  onLeave(): void;
  /** Called once. `why` is undefined if the other end closed the connection. */
  onClose(why: string | undefined): void;
}

/** Connects to the other end. Calls the events later, never before it has returned. */
export type Dial = (events: DialEvents) => { destroy(): void };

/** What responses and entries of the log say of the other end. */
export interface ConnectionTexts {
  /** The beginning of an entry. */
  readonly notConnected: string;
  /** Reasons: of a request that was not sent, or not processed; of one that may have had effects; of a stream that broke off. */
  readonly unavailable: string;
  readonly outcomeUnknown: string;
  readonly brokenOff: string;
}

export interface ConnectionOptions {
  readonly dial: Dial;
  readonly texts: ConnectionTexts;
  readonly log: Pick<Log, 'debug'>;
  /** Headers of the responses that are made here. Default: none. */
  readonly headersFor?: ((request: PlainRequest) => Readonly<Record<string, string>>) | undefined;
  /** Milliseconds that a request waits for the other end. Default: 5,000. */
  readonly waitMs?: number | undefined;
  /** Milliseconds until the next attempt, after that many in succession that failed. Default: 50, and at once after a connection has ended. */
  readonly retryMs?: ((failures: number) => number) | undefined;
  /** See `Heartbeat`. Default: the other end is not asked for signs of life. */
  readonly beatMs?: number | undefined;
  /** Whether it stays connected without requests. Called when the connection has ended. Default: it does. */
  readonly isKept?: (() => boolean) | undefined;
  /** Added to the number of servers that have passed a request on. Default: 0. */
  readonly hops?: number | undefined;
}

/** Sends requests over one connection at a time, and connects again when it has ended. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #exchanges = new Map<number, Exchange>();
  readonly #waiting = new Set<(isConnected: boolean) => void>();
  /** Undefined until the other end takes requests. */
  #link: Link | undefined;
  /** Links that take no more requests, and whose exchanges have not ended. */
  readonly #leaving = new Set<Link>();
  #heartbeat: Heartbeat | undefined;
  #connecting: { destroy(): void } | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Defined while requests are under way. */
  #looking: NodeJS.Timeout | undefined;
  #lastId = 0;
  #failures = 0;
  /** How often it was left. */
  #leaves = 0;
  #isClosed = false;
  /** The last reason that was logged: attempts fail again and again. */
  #lastFault: string | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#connect();
  }

  readonly handle: Handle = (request) => {
    const link = this.#link;
    return link === undefined ? this.#handleLater(request) : this.#send(link, request);
  };

  /** Undefined while the other end takes no requests. */
  get link(): Link | undefined {
    return this.#link;
  }

  /** Whether it is not connected, does not try to, and nothing waits. A later request connects again. */
  get isDormant(): boolean {
    const isConnected = this.#link !== undefined || this.#connecting !== undefined || this.#retry !== undefined;
    return !isConnected && this.#leaving.size === 0 && this.#waiting.size === 0 && this.#exchanges.size === 0;
  }

  /** Connects, unless it does already. */
  wake(): void {
    const isUnderWay = this.#link !== undefined || this.#connecting !== undefined || this.#retry !== undefined;
    if (!isUnderWay && !this.#isClosed) this.#connect();
  }

  whenConnected(waitMs = this.#options.waitMs ?? WAIT_MS): Promise<boolean> {
    if (this.#link !== undefined || this.#isClosed) return Promise.resolve(this.#link !== undefined);
    this.wake();
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

  /** Closes the connection when the exchanges on it have ended. What waits for it waits no longer. */
  leave(): void {
    const link = this.#link;
    if (link !== undefined) this.#leave(link);
    else {
      this.#leaves += 1;
      for (const settle of [...this.#waiting]) settle(false);
      clearTimeout(this.#retry);
      this.#retry = undefined;
      this.#connecting?.destroy();
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    clearTimeout(this.#looking);
    this.#connecting?.destroy();
    this.#link?.end();
    for (const link of this.#leaving) link.end();
    for (const settle of this.#waiting) settle(false);
  }

  async #handleLater(request: PlainRequest): Promise<PlainResponse> {
    const leaves = this.#leaves;
    await this.whenConnected();
    const link = this.#link;
    if (link !== undefined) return this.#send(link, request);
    // The other end does not take part any more: another server owns what it owned.
    return this.#unavailable(request, this.#leaves > leaves ? 'not_owner' : 'shutting_down');
  }

  async #send(link: Link, request: PlainRequest, isAgain = false): Promise<PlainResponse> {
    const id = this.#nextId();
    const whole = toWhole(request.body);
    const stream = whole === undefined ? toStream(request.body) : undefined;
    const exchange = new OpenExchange(link, id, () => {
      this.#exchanges.delete(id);
      if (this.#leaving.size > 0) this.#endIdle();
    });
    this.#exchanges.set(id, exchange);
    this.#looking ??= setTimeout(() => this.#look(), LOOK_MS);
    this.#heartbeat?.begin();
    const { hops: passed = 0 } = request;
    const hops = passed + (this.#options.hops ?? 0);
    const response = await exchange.run(request, hops || undefined, whole, stream);
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
    this.#retry = undefined;
    let own: Link | undefined;
    this.#connecting = this.#options.dial({
      onReady: (link) => {
        own = link;
        this.#ready(link);
      },
      onFrame: (kind, id, payload) => this.#take(kind, id, payload),
      onLeave: () => {
        if (own !== undefined) this.#leave(own);
      },
      onClose: (why) => this.#closed(own, why),
    });
  }

  #take(kind: number, id: number, payload: Buffer): void {
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
    this.#failures = 0;
    const { beatMs } = this.#options;
    if (beatMs !== undefined) this.#heartbeat = new Heartbeat(link, beatMs, () => this.#isBusy(link));
    for (const settle of this.#waiting) settle(true);
  }

  #isBusy(link: Link): boolean {
    for (const exchange of this.#exchanges.values()) if (exchange.isOn(link)) return true;
    return false;
  }

  #leave(link: Link): void {
    this.#leaving.add(link);
    if (this.#link === link) {
      this.#link = undefined;
      this.#connectLater(false);
    }
    this.#endIdle();
  }

  #endIdle(): void {
    for (const link of this.#leaving) if (!this.#isBusy(link)) link.end();
  }

  #closed(link: Link | undefined, why: string | undefined): void {
    const isLeaving = link !== undefined && this.#leaving.delete(link);
    const wasReady = link !== undefined && this.#link === link;
    if (wasReady) this.#link = undefined;
    else if (!isLeaving) this.#connecting = undefined;
    if (link !== undefined) {
      for (const exchange of [...this.#exchanges.values()]) exchange.lose(link, this.#options.texts.brokenOff);
    }
    if (this.#isClosed || isLeaving) return;
    this.#report(wasReady ? (why ?? 'it has ended') : why);
    this.#connectLater(!wasReady);
  }

  #connectLater(hasFailed: boolean): void {
    if (this.#isClosed || this.#retry !== undefined) return;
    const { isKept, retryMs } = this.#options;
    if (isKept?.() === false && this.#waiting.size === 0) return;
    if (hasFailed) this.#failures++;
    // Another process takes over at once.
    const waitMs = retryMs?.(this.#failures) ?? (hasFailed ? RETRY_MS : 0);
    this.#retry = setTimeout(() => this.#connect(), waitMs);
  }

  #report(why: string | undefined): void {
    if (why === undefined || why === this.#lastFault) return;
    this.#lastFault = why;
    this.#options.log.debug(`${this.#options.texts.notConnected}: ${why}`);
  }

  #unavailable(request: PlainRequest, errorCode = 'shutting_down'): PlainResponse {
    return this.#answer(request, errorCode, this.#options.texts.unavailable);
  }

  #outcomeUnknown(request: PlainRequest): PlainResponse {
    const { code, reason } = new DatabaseError('write_outcome_unknown', this.#options.texts.outcomeUnknown);
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
