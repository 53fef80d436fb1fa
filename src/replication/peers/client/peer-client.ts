/**
 * Sends requests to a peer, again if that can help: after network failures, responses that are cut off or invalid, and statuses
 * that say "later". It bounds how many are under way, adds the sender's credentials, and waits as long as the peer asks for.
 */
import type { Clock, RandomBytes } from '../../../base/shared/clock.ts';
import type { Log } from '../../../base/system/contract.ts';
import type { HostLimits } from '../../connection-limits.ts';
import type { PeerOutage } from '../../contract.ts';
import { cancelled, OFFLINE, ReplicationError, unreachableOf } from '../../failure.ts';
import type { MemoryShare } from '../../peer-memory.ts';
import type { Reachability } from '../../reachability.ts';
import type { RelatedBody } from '../contract.ts';
import { Answer, SHORT_ANSWER } from './answer.ts';
import { AttemptFailure, describeFailure, failureOf } from './attempt-failure.ts';
import type { Authorization } from './authorization.ts';
import { CompressionUse, compress } from './compression-use.ts';
import {
  backOffMs,
  ConnectionLimit,
  MAX_PAUSE_MS,
  type NextEvent,
  retryAfterMs,
  sleep,
  sleepUntil,
  unlessAborted,
} from './pacing.ts';
import type { Transport, TransportRequest } from './transport.ts';
import { isFromBetween, isOfGateway, isUnreachable } from './unreachable.ts';
import { underWatch, Watchdog } from './watchdog.ts';

export interface PeerClientOptions {
  readonly transport: Transport;
  readonly authorization: Authorization;
  /** Sent with each request; names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  /** Shared with all other replications that use the same host; undefined if nothing is shared. */
  readonly hostLimits?: HostLimits | undefined;
  /** The peer's host on the network; undefined if there is none. */
  readonly host?: PeerHost | undefined;
  /** Where the memory for the peer's responses is counted; undefined if it is not counted. */
  readonly memory?: MemoryShare | undefined;
  /** Whether failures repeat the reasons that the peer returns. Default: true. */
  readonly tellsReasons?: boolean | undefined;
  readonly connectionTimeoutMs: number;
  readonly retriesPerRequest: number;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: Log;
  /** Called for each failure after which a request is retried, and with undefined when a request has succeeded since. */
  readonly onOutage?: ((outage: PeerOutage | undefined) => void) | undefined;
  /** Ends all requests. */
  readonly signal: AbortSignal;
}

/** The host of a peer, which may be out of reach. */
export interface PeerHost {
  /** Its name in `reachability`. */
  readonly origin: string;
  readonly reachability: Reachability | undefined;
  /** See `ReplicatorHost`. */
  readonly isOnline: (() => boolean) | undefined;
}

export interface PeerRequest {
  readonly method: string;
  /** Below the database; below its server if `ofServer` is set. */
  readonly path: string;
  readonly ofServer?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as JSON. A streamed body can be sent once: with no retries. */
  readonly body?: string | RelatedBody | undefined;
  /** Statuses from 400 on that are passed to `use`; the others are failures. */
  readonly accepts?: readonly number[];
  /** The part of the database that the request names, which may be missing: otherwise 404 means the database. */
  readonly names?: string | undefined;
  /**
   * Does not count towards the limit: it lasts for as long as nothing happens, or a request to the other peer waits for it, so
   * that each could wait for the other.
   */
  readonly isUncounted?: boolean;
  /** Replaces the usual number. */
  readonly retries?: number;
  /** Ends only this request. */
  readonly signal?: AbortSignal;
}

const SLOWEST_BYTES_PER_MS = 32;
const TOO_MANY_REQUESTS = 429;
const UNAVAILABLE = 503;
const BAD_REQUEST = 400;
const UNAUTHORIZED = 401;
const BAD_TYPE = 415;

export class PeerClient {
  readonly name: string;
  readonly isLocal: boolean;
  readonly #options: PeerClientOptions;
  readonly #limit: ConnectionLimit;
  readonly #compression: CompressionUse;
  /** No request is sent before this time, by the monotonic clock; 0 if the peer has asked for no pause. */
  #pausedUntil = 0;
  #hasSucceeded = false;
  #troubleSince: number | undefined;

  constructor(options: PeerClientOptions) {
    this.name = options.transport.name;
    this.isLocal = options.transport.isLocal;
    this.#options = options;
    this.#limit = new ConnectionLimit(options.connections);
    this.#compression = new CompressionUse(options.transport.isSlow);
  }

  /** Whether the replication has ended: a request cut off then is no failure of the peer. */
  get isEnded(): boolean {
    return this.#options.signal.aborted;
  }

  /** Shared with the other replications of the host; undefined if there is no need to share. */
  get hostLimits(): HostLimits | undefined {
    return this.#options.hostLimits;
  }

  /** Calls `fail` when the replication ends, or has ended. Returns a function that cancels this. */
  onEnd(fail: (failure: ReplicationError) => void): () => void {
    const { signal } = this.#options;
    const end = () => fail(cancelled());
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    return () => signal.removeEventListener('abort', end);
  }

  /** Waits. Fails with `cancelled` if the replication ends in the meantime. */
  async pause(ms: number): Promise<void> {
    await sleep(ms, this.#options.signal).catch(() => {
      throw cancelled();
    });
  }

  /**
   * Returns the result of `use`, which has to read the response's body or to discard it. It is called again with another response if it fails with
   * an `AttemptFailure`. If `ask` is a function, each attempt calls it. Fails with `ReplicationError`, and with other failures of `use`.
   */
  async ask<T>(ask: PeerRequest | (() => PeerRequest), use: (answer: Answer) => Promise<T>): Promise<T> {
    const { retriesPerRequest, log, random } = this.#options;
    let wasWoken = false;
    for (let failures = 0; ; ) {
      const request = typeof ask === 'function' ? ask() : ask;
      const retries = request.retries ?? retriesPerRequest;
      const signal = request.signal ?? this.#options.signal;
      try {
        return await this.#attempt(request, signal, use);
      } catch (thrown) {
        if (signal.aborted) throw cancelled();
        if (!(thrown instanceof AttemptFailure)) throw thrown;
        const failure = await this.#withReason(thrown, request);
        failures++;
        const waitMs = failure.retryAfterMs ?? backOffMs(failures, random);
        if (!failure.isRetryable || failures > retries || waitMs > MAX_PAUSE_MS) throw failure.asFinal(this.name);
        this.#noteOutage(failure, waitMs);
        log.debug(`replication: ${failure.message}; the request is sent again in ${Math.round(waitMs)} ms`);
        // A host that responds only to others would wake this one again and again.
        const event: NextEvent | undefined = wasWoken ? undefined : this.#nextResponse(failure);
        wasWoken = await sleepUntil(waitMs, signal, event).catch(() => {
          throw cancelled();
        });
      }
    }
  }

  /** Without a network no connection lasts, and none is answered. A proxy without its server answers so whatever is asked. */
  async #withReason(failure: AttemptFailure, { path }: PeerRequest): Promise<AttemptFailure> {
    const { host } = this.#options;
    const { status, retryAfterMs: pauseMs, unreachable, isOfGateway: isOfProxy } = failure;
    if (host === undefined || unreachable !== undefined) return failure;
    const isOffline = status === undefined && pauseMs === undefined && host.isOnline?.() === false;
    if (!isOffline && !(isOfProxy && (path === '' || (await this.#isDown())))) return failure;
    const why = isOffline ? 'this device is offline' : `a proxy answered in its place with ${status}`;
    const details = { unreachable: host.origin, status, retryAfterMs: pauseMs, cause: failure };
    return new AttemptFailure(`${this.name} can't be reached: ${why}`, details);
  }

  async #isDown(): Promise<boolean> {
    const asked = this.ask({ method: 'GET', path: '', retries: 0 }, (answer) => answer.object(SHORT_ANSWER));
    return asked.then(
      () => false,
      (second: unknown) => unreachableOf(second) !== undefined,
    );
  }

  /** The next response that any replication gets from a host that can't be reached. A host that says when to come again is asked then. */
  #nextResponse({ unreachable, retryAfterMs: pauseMs }: AttemptFailure): NextEvent | undefined {
    const reachability = this.#options.host?.reachability;
    const isExpected = unreachable !== undefined && pauseMs === undefined;
    return isExpected && reachability ? (goOn) => reachability.next(unreachable, goOn) : undefined;
  }

  get retriesPerRequest(): number {
    return this.#options.retriesPerRequest;
  }

  /**
   * Whether a failure concerns what was requested here, and not the whole database: that responds when it is asked for nothing special.
   */
  async isOfRequest(failure: unknown): Promise<boolean> {
    if (!(failure instanceof ReplicationError) || failure.suspect !== this.name) return false;
    try {
      await this.ask({ method: 'GET', path: '', retries: 0 }, (answer) => answer.object(SHORT_ANSWER));
      return true;
    } catch (second) {
      if (this.isEnded || !(second instanceof ReplicationError)) throw second;
      return false;
    }
  }

  #noteOutage({ code, message, unreachable }: AttemptFailure, waitMs: number): void {
    const now = this.#options.clock.now();
    this.#troubleSince ??= now;
    const times = { since: this.#troubleSince, nextAttempt: now + waitMs };
    const outage = { reason: `${code}: ${message}`, ...times };
    const offline = { reason: `${OFFLINE}: ${message}`, ...times, isOffline: true };
    this.#options.onOutage?.(unreachable === undefined ? outage : offline);
  }

  #noteSuccess(): void {
    this.#hasSucceeded = true;
    this.#limit.succeeded();
    if (this.#troubleSince === undefined) return;
    this.#troubleSince = undefined;
    this.#options.onOutage?.(undefined);
  }

  async #attempt<T>(request: PeerRequest, signal: AbortSignal, use: (answer: Answer) => Promise<T>): Promise<T> {
    if (request.isUncounted === true) return this.#exchange(request, signal, use);
    const { hostLimits } = this.#options;
    await this.#limit.acquire();
    try {
      await hostLimits?.requests.acquire(signal);
      return await this.#exchange(request, signal, use).finally(() => hostLimits?.requests.release());
    } finally {
      this.#limit.release();
    }
  }

  async #exchange<T>(request: PeerRequest, signal: AbortSignal, use: (answer: Answer) => Promise<T>): Promise<T> {
    await this.#waitForPause(signal);
    let exchange = await this.#send(request, signal);
    if (await this.#mayDoBetter(exchange)) {
      await exchange.answer.discard();
      exchange.end();
      if (isStreamed(request)) throw new AttemptFailure(`${this.name} required another session`, { retryAfterMs: 0 });
      exchange = await this.#send(request, signal);
    }
    try {
      return await this.#judged(request, exchange.answer, use);
    } catch (failure) {
      // A body that is not read to its end would keep its connection.
      await exchange.answer.discard();
      throw failure;
    } finally {
      exchange.end();
    }
  }

  async #judged<T>(request: PeerRequest, answer: Answer, use: (answer: Answer) => Promise<T>): Promise<T> {
    const { status } = answer;
    if (status < 300 || (request.accepts?.includes(status) === true && !isFromBetween(answer))) {
      this.#noteSuccess();
      return use(answer);
    }
    throw await this.#failureOf(request, answer);
  }

  /** Returns the failure for a response that is not an accepted one. */
  async #failureOf(request: PeerRequest, answer: Answer): Promise<AttemptFailure | ReplicationError> {
    const { status } = answer;
    const awaited = status === UNAUTHORIZED ? this.#options.authorization.refusal?.() : undefined;
    if (awaited !== undefined) return awaited;
    const pauseMs = retryAfterMs(answer.header('retry-after'), this.#options.clock.now());
    const isOverloaded = status === TOO_MANY_REQUESTS || status === UNAVAILABLE;
    if (isOverloaded) this.#limit.slowDown();
    if (isOverloaded && pauseMs !== undefined) this.#pausedUntil = this.#options.clock.monotonic() + pauseMs;
    const isFromProxy = isFromBetween(answer);
    const { name } = this;
    const asked = { peer: name, what: describe(request), isOfDatabase: request.path === '', names: request.names };
    const head = { status, isFromProxy, isOfGateway: isOfGateway(answer), pauseMs };
    return failureOf(asked, { ...(await answer.refusal()), ...head }, this.#hasSucceeded);
  }

  async #waitForPause(signal: AbortSignal): Promise<void> {
    if (this.#pausedUntil === 0) return;
    const leftMs = this.#pausedUntil - this.#options.clock.monotonic();
    if (leftMs > MAX_PAUSE_MS) {
      throw new AttemptFailure(`${this.name} asked for a long pause`, { retryAfterMs: leftMs });
    }
    if (leftMs > 0) await sleep(leftMs, signal);
  }

  async #send(request: PeerRequest, signal: AbortSignal): Promise<Exchange> {
    const { transport, authorization, connectionTimeoutMs, memory, tellsReasons } = this.#options;
    const controller = new AbortController();
    const abort = () => controller.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    const limitMs = transport.isLocal ? undefined : connectionTimeoutMs;
    const watchdog = new Watchdog(this.name, limitMs, () => controller.abort());
    const end = () => {
      watchdog.pause();
      signal.removeEventListener('abort', abort);
    };
    try {
      const { method, path, ofServer } = request;
      const base = ofServer === true ? this.name.slice(0, this.name.lastIndexOf('/')) : this.name;
      const authorizing = authorization.headersFor({ method, url: `${base}${path}` });
      const own = await (transport.isLocal ? authorizing : unlessAborted(authorizing, controller.signal));
      const { body, headers } = await this.#bodyOf(request, watchdog);
      const all = { accept: 'application/json', ...headers, ...request.headers };
      const ownHeaders = { ...own, ...this.#options.headers };
      const sent = transport.send({
        method,
        path,
        ofServer,
        headers: all,
        ownHeaders,
        body,
        signal: controller.signal,
      });
      const answer = await watchdog.during(sent, sendingMs(body));
      if (!isOfGateway(answer)) this.#noteResponse();
      authorization.takeCookies(answer.cookies);
      this.#compression.noteServer(answer.header('server'));
      const wasCompressed = 'content-encoding' in headers;
      const options = { memory, tellsReasons, credentials: ownHeaders };
      const counted = new Answer(`${method} ${base}${pathOf(request)}`, answer, watchdog, options);
      const endAll = () => {
        counted.end();
        end();
      };
      return { answer: counted, wasCompressed, authorized: own, end: endAll };
    } catch (failure) {
      end();
      if (failure instanceof AttemptFailure || failure instanceof ReplicationError) throw failure;
      const unreachable = isUnreachable(failure) ? this.#options.host?.origin : undefined;
      const reason = `${this.name} can't be reached: ${describeFailure(failure)}`;
      throw new AttemptFailure(reason, { unreachable, cause: failure });
    }
  }

  #noteResponse(): void {
    const { host } = this.#options;
    if (host !== undefined) host.reachability?.noteResponse(host.origin);
  }

  async #bodyOf({ body }: PeerRequest, watchdog: Watchdog) {
    if (body === undefined) return { body, headers: {} };
    if (typeof body !== 'string') {
      return { body: underWatch(body.chunks, watchdog), headers: { 'content-type': body.type } };
    }
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (!this.#compression.appliesTo(body)) return { body, headers };
    return { body: await compress(body), headers: { ...headers, 'content-encoding': 'gzip' } };
  }

  /** Whether the same request, sent at once in another way, may get another response: with a new session, or not compressed. */
  async #mayDoBetter({ answer, wasCompressed, authorized }: Exchange): Promise<boolean> {
    if (answer.status === UNAUTHORIZED) return this.#options.authorization.renew(authorized);
    // A peer that can't read a compressed request may report that it is malformed.
    if (!wasCompressed || (answer.status !== BAD_TYPE && answer.status !== BAD_REQUEST)) return false;
    this.#compression.refused();
    return true;
  }
}

interface Exchange {
  readonly answer: Answer;
  readonly wasCompressed: boolean;
  /** What the authorization added to the request. */
  readonly authorized: Readonly<Record<string, string>>;
  end(): void;
}

function isStreamed({ body }: PeerRequest): boolean {
  return typeof body === 'object';
}

/** While a body is being sent there is no sign of the peer: this allows time for a slow connection. */
function sendingMs(body: TransportRequest['body']): number {
  return typeof body === 'string' || body instanceof Uint8Array ? body.length / SLOWEST_BYTES_PER_MS : 0;
}

/** Returns its method, and its path below the database. */
function describe(request: PeerRequest): string {
  return `${request.method} ${pathOf(request)}`.trimEnd();
}

/** Returns the path without its parameters, which may be long. */
function pathOf({ path }: PeerRequest): string {
  return path.replace(/\?.*$/s, '');
}
