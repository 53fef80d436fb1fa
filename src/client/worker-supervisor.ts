/**
 * The place of this page's worker. The worker comes and goes: it ends when the page is left, since in the back/forward cache a
 * frozen worker would keep the storage to itself, and a new one begins when the page is shown again. Calls in between wait for it.
 * What was under way when a worker ended is called again if it only reads; a write whose outcome nobody knows is answered 503.
 */
import { type Remote, wrap } from 'comlink';
import type { WorkerDoor, WorkerOptions, WorkerStatus } from '../bridge/contract.ts';
import { isRepeatable } from '../bridge/link/repeatable.ts';
import { serviceUnavailable } from '../bridge/link/unavailable.ts';
import type { PortOffer, SignOfLife } from '../bridge/wire/control.ts';
import { Outbox } from '../bridge/wire/message-batch.ts';
import type { PageAnswer, PageAnswers, PageCall, WireResponse } from '../bridge/wire/wire.ts';
import { portOf } from '../bridge/wire/wire-codec.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import { offerBody } from './body-ports.ts';
import type { Outgoing } from './outgoing-request.ts';
import { soon } from './sign-of-life.ts';
import { explainScript } from './start-failures.ts';

/** A worker that answers. */
interface Occupant {
  readonly door: Remote<WorkerDoor>;
  readonly outbox: Outbox<PageCall>;
}

type FromWorker = Partial<PageAnswers & (PortOffer | SignOfLife)>;

const CLOSED = 'This Settee was closed; start it again';
const UNKNOWN_OUTCOME =
  'The page was left while the request was under way: it may have been carried out or not; read before you write again';

export class WorkerSeat {
  readonly #url: URL;
  readonly #options: WorkerOptions;
  readonly #onLoss: () => void;
  /** Those who wait for the present worker, by the numbers of their calls; called with an answer, or without when it ends. */
  readonly #waiting = new Map<number, (answer?: PageAnswer) => void>();
  readonly #listening = new AbortController();
  /** There from the moment on in which the service is to end. */
  #closed: Promise<void> | undefined;
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
    const { signal } = this.#listening;
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
  handle(request: Outgoing): Promise<WireResponse> {
    return this.#occupant && !this.#closed ? this.#ask(this.#occupant, request) : this.#askNext(request);
  }

  async #askNext(request: Outgoing): Promise<WireResponse> {
    request.signal?.throwIfAborted();
    if (this.#closed) throw new TypeError(CLOSED);
    let occupant: Occupant;
    try {
      occupant = await this.occupy();
    } catch (error) {
      return serviceUnavailable(String(error));
    }
    return this.#ask(occupant, request);
  }

  /**
   * Lets the worker finish what is under way, which leaves at the end of this turn, then ends it: at once where the page is left meanwhile.
   */
  close(): Promise<void> {
    this.#closed ??= this.#unlessLost(Promise.resolve().then(() => this.#occupant?.door.close())).finally(() => {
      this.#end();
      this.#listening.abort();
    });
    return this.#closed;
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
      if (this.#closed) throw new TypeError(CLOSED);
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
      worker.onmessage = (event: MessageEvent<FromWorker>) => {
        const { data } = event;
        if (this.#worker === worker) for (const answer of data.answers ?? []) this.#waiting.get(answer[0])?.(answer);
        // Asking for the ports alone takes a hundredth of a request.
        if (data.base) navigator.serviceWorker?.controller?.postMessage(data, [...event.ports]);
      };
      const door = wrap<WorkerDoor>(worker);
      const broken = new Promise<never>((_, reject) => {
        worker.onerror = ({ message }) => reject(message);
        this.#listen(door.status(), reject).catch(() => {});
      });
      const outbox = new Outbox<PageCall>((calls, ports) => worker.postMessage({ calls }, ports));
      const opened = door.open(this.#options).then(() => ({ door, outbox }));
      return await this.#unlessLost(Promise.race([opened, broken]));
    } catch (error) {
      // What the worker itself says is an Error; what the browser says seldom explains anything.
      if (this.#worker && error instanceof Error) throw error;
      throw await explainScript('worker', this.#url, error);
    }
  }

  /**
   * Gives up a worker that says nothing: ours gives a sign as soon as it has begun. Its script may be on its way for long, but not when the
   * page could have it meanwhile.
   */
  async #listen(sign: Promise<unknown>, giveUp: (why: string) => void): Promise<void> {
    if (await soon(sign)) return;
    await (await fetch(this.#url)).text();
    if (!(await soon(sign))) giveUp('nothing in it answers');
  }

  /** Rejects with the signal's reason if that comes first. */
  #ask({ outbox }: Occupant, request: Outgoing): Promise<WireResponse> {
    return new Promise((resolve, reject) => {
      const { method, url, headers, body, signal } = request;
      signal?.throwIfAborted();
      const wire = body instanceof ReadableStream ? { stream: offerBody(body) } : body;
      const call = ++this.#calls;
      const abort = () => {
        this.#waiting.delete(call);
        reject(signal?.reason);
        outbox.put([call]);
      };
      this.#waiting.set(call, (answer) => {
        this.#waiting.delete(call);
        signal?.removeEventListener('abort', abort);
        if (!answer) resolve(this.#askAgain(request));
        else if (answer.length === 2) reject(new TypeError(answer[1]));
        else resolve({ status: answer[1], headers: answer[2], body: answer[3] });
      });
      signal?.addEventListener('abort', abort);
      outbox.put([call, method, url, headers, wire, Boolean(signal)], portOf(wire));
    });
  }

  /** After its worker ended. */
  #askAgain(request: Outgoing): MaybePromise<WireResponse> {
    return isRepeatable(request, this.#options) && !(request.body instanceof ReadableStream)
      ? this.handle(request)
      : serviceUnavailable(UNKNOWN_OUTCOME);
  }

  /** What comes of the work; undefined if the worker ends first. */
  #unlessLost<T>(work: Promise<T>): Promise<T | undefined> {
    const call = ++this.#calls;
    return new Promise<T | undefined>((resolve, reject) => {
      this.#waiting.set(call, () => resolve(undefined));
      work.then(resolve, reject);
    }).finally(() => this.#waiting.delete(call));
  }

  /** Ends the worker at once, so that what it holds is free for others. */
  #end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    // One that is about to begin goes on with the next worker.
    if (this.#occupant) this.#occupation = undefined;
    this.#occupant = undefined;
    for (const lose of this.#waiting.values()) lose();
    this.#waiting.clear();
    this.#onLoss();
  }
}
