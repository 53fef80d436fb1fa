/**
 * The place of this page's worker. The worker comes and goes: it ends when the page is left, since in the back/forward cache a
 * frozen worker would keep the storage to itself, and a new one begins when the page is shown again. Calls in between wait for it.
 * What was under way when a worker ended is called again if it only reads; a write whose outcome nobody knows is answered 503.
 */
import { type Remote, transfer, wrap } from 'comlink';
import type { WorkerDoor, WorkerOptions, WorkerStatus } from '../bridge/contract.ts';
import { isRepeatable } from '../bridge/repeatable.ts';
import { serviceUnavailable } from '../bridge/unavailable.ts';
import type { WireRequest, WireResponse } from '../bridge/wire.ts';
import { offerBody } from './body-ports.ts';
import { explainScript } from './obstacles.ts';
import type { Outgoing } from './outgoing-request.ts';

/** A worker that answers. */
interface Occupant {
  readonly door: Remote<WorkerDoor>;
  /** Its own proxy, which would be made anew for every call. */
  readonly handle: Remote<WorkerDoor>['handle'];
}

const CLOSED = 'This Settee was closed; start it again';
const UNKNOWN_OUTCOME =
  'The page was left while the request was under way: it may have been carried out or not; read before you write again';

export class WorkerSeat {
  readonly #url: URL;
  readonly #options: WorkerOptions;
  readonly #onLoss: () => void;
  /** Those who wait for the present worker; called when it ends. */
  readonly #waiting = new Set<() => void>();
  readonly #closing = new AbortController();
  #calls = 0;
  #worker: Worker | undefined;
  #occupant: Occupant | undefined;
  #occupation: Promise<Occupant> | undefined;
  /** Resolves when the page is shown again; there while it is not. */
  #shown: Promise<void> | undefined;
  #show: () => void = () => {};

  /** `onLoss` is told when a worker ended: bodies that came from it break off. */
  constructor(url: URL, options: WorkerOptions, onLoss: () => void) {
    this.#url = url;
    this.#options = options;
    this.#onLoss = onLoss;
    const { signal } = this.#closing;
    addEventListener('pagehide', () => this.#leave(), { signal });
    addEventListener('pageshow', () => this.#return(), { signal });
  }

  /** Resolves when a worker answers. Rejects with an Error that says why none can; the next call tries again. */
  occupy(): Promise<Occupant> {
    this.#occupation ??= this.#occupy().catch((error) => {
      this.#end();
      this.#occupation = undefined;
      throw error;
    });
    return this.#occupation;
  }

  async status(): Promise<WorkerStatus> {
    const { door } = await this.occupy();
    return (await this.#unlessLost(door.status())) ?? this.status();
  }

  /** Rejects with a TypeError when the request can't be carried out at all, or with its signal's reason. */
  async handle(request: Outgoing): Promise<WireResponse> {
    for (;;) {
      if (this.#closing.signal.aborted) throw new TypeError(CLOSED);
      let occupant = this.#occupant;
      try {
        occupant ??= await this.occupy();
      } catch (error) {
        return serviceUnavailable(String(error));
      }
      const answer = await this.#ask(occupant, request);
      if (answer) return answer;
      if (!isRepeatable(request, this.#options) || request.body instanceof ReadableStream) {
        return serviceUnavailable(UNKNOWN_OUTCOME);
      }
    }
  }

  /** Lets the worker finish what is under way, then ends it. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#occupant?.door.close();
    this.#end();
  }

  #leave(): void {
    this.#shown = new Promise((resolve) => {
      this.#show = resolve;
    });
    this.#end();
  }

  /** Starts a new worker even if nobody calls: this page, if no other, is to own the storage. */
  #return(): void {
    this.#show();
    if (this.#shown) this.occupy().catch(() => {});
    this.#shown = undefined;
  }

  async #occupy(): Promise<Occupant> {
    for (;;) {
      await this.#shown;
      if (this.#closing.signal.aborted) throw new TypeError(CLOSED);
      const occupant = await this.#start();
      this.#occupant = occupant;
      if (occupant) return occupant;
    }
  }

  /** Undefined when the page was left meanwhile. */
  async #start(): Promise<Occupant | undefined> {
    try {
      const worker = new Worker(this.#url, { type: 'module', name: 'settee' });
      this.#worker = worker;
      const door = wrap<WorkerDoor>(worker);
      const broken = new Promise<never>((_, reject) => {
        worker.onerror = ({ message }) => reject(message);
      });
      const opened = door.open(this.#options).then(() => ({ door, handle: door.handle }));
      return await this.#unlessLost(Promise.race([opened, broken]));
    } catch (error) {
      // What the worker itself says is an Error; what the browser says seldom explains anything.
      if (this.#worker && error instanceof Error) throw error;
      throw await explainScript('worker', this.#url, error);
    }
  }

  /** Undefined when the worker ended before it answered. */
  #ask({ door, handle }: Occupant, request: Outgoing): Promise<WireResponse | undefined> {
    const { signal } = request;
    if (signal?.aborted) return Promise.reject(signal.reason);
    const call = ++this.#calls;
    const answer = handle(toWire(request), call).catch((cause) => {
      throw new TypeError(String(cause), { cause });
    });
    return this.#unlessLost(answer, signal, () => door.abort(call));
  }

  /** What comes of the work; undefined if the worker ends first. Rejects with the signal's reason if that comes first. */
  #unlessLost<T>(work: Promise<T>, signal?: AbortSignal | null, onAbort?: () => unknown): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const lose = () => resolve(undefined);
      const abort = () => {
        reject(signal?.reason);
        onAbort?.();
      };
      this.#waiting.add(lose);
      signal?.addEventListener('abort', abort);
      work.then(resolve, reject).finally(() => {
        this.#waiting.delete(lose);
        signal?.removeEventListener('abort', abort);
      });
    });
  }

  /** Ends the worker at once, so that what it holds is free for others. */
  #end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    // One that is about to begin goes on with the next worker.
    if (this.#occupant) this.#occupation = undefined;
    this.#occupant = undefined;
    for (const lose of this.#waiting) lose();
    this.#waiting.clear();
    this.#onLoss();
  }
}

function toWire({ method, url, headers, body }: Outgoing): WireRequest {
  if (!(body instanceof ReadableStream)) return { method, url, headers, body };
  const stream = offerBody(body);
  return transfer({ method, url, headers, body: { stream } }, [stream]);
}
