/**
 * Starts and ends this page's worker, and starts another one if it ended.
 *
 *     none ── first call, or the page is shown again ──► starting ── a core answers ──► running
 *     starting ── the script can't be started, or says why no core can answer ──► none; the next call tries again
 *     running ── it gives no sign while calls wait ──► none; the calls are made again
 *     starting, running ── the browser has cleared the site's data ──► starting: another worker, on an empty storage
 *     starting, running ── the page is left ──► none: in the back/forward cache a frozen worker would keep the storage to itself
 *     any ── close() ──► closed
 *
 * Calls wait for a running worker. A call that was in progress when its worker ended is made again if it only reads; a write whose outcome
 * is unknown is answered 503.
 */
import { type Remote, wrap } from 'comlink';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { isReadOnlyRequest } from '../../http/request/read-only-requests.ts';
import type { PageWorker, WorkerOptions, WorkerStatus } from '../bridge/contract.ts';
import { MessageBatch } from '../bridge/message-batch.ts';
import { scriptAddress } from '../bridge/script-address.ts';
import { serviceUnavailable } from '../bridge/service-unavailable.ts';
import type {
  AliveMessage,
  ClearedMessage,
  OutdatedMessage,
  PageAnswer,
  PageAnswers,
  PageCall,
  PortOffer,
  ReplicationMessage,
  SandboxRequest,
  WireResponse,
} from '../bridge/wire.ts';
import { portOf } from '../bridge/wire-codec.ts';
import { offerBody } from './body-ports.ts';
import { untilStuck, withinDeadline } from './deadline.ts';
import type { Outgoing } from './outgoing-request.ts';
import { PendingReplications } from './pending-replications.ts';
import { startScript } from './scripts.ts';

/** The workers for functions of documents that the page starts for its own worker, if that can't start them itself. */
export class PageSandboxes {
  readonly #workers = new Set<Worker>();

  /** The two ports that come with the request. */
  start({ file }: SandboxRequest, [messages, control]: readonly MessagePort[]): void {
    if (messages === undefined || control === undefined) return;
    try {
      const worker = new Worker(scriptAddress(new URL(file)), { type: 'module', name: 'settee sandbox' });
      this.#workers.add(worker);
      worker.onerror = (event) => {
        event.preventDefault();
        // There is no message if the file could not be loaded.
        control.postMessage(event.message ?? `${file} could not be loaded`);
      };
      control.onmessage = () => {
        this.#workers.delete(worker);
        worker.terminate();
        control.close();
      };
      worker.postMessage(null, [messages]);
    } catch (error) {
      control.postMessage(String(error));
    }
  }

  /** Ends them all, as they end by themselves with a worker that started them. */
  end(): void {
    for (const worker of this.#workers) worker.terminate();
    this.#workers.clear();
  }
}

interface WorkerEvents {
  /** A worker has ended: the bodies that came from it break off. */
  onLoss(why: string): void;
  /** The browser has cleared the site's data; another worker is on its way. */
  onCleared(): void;
  /** Another tab speaks a newer protocol, and owns the storage: this page's worker no longer answers. */
  onOutdated(): void;
}

/** A worker that answers. */
interface RunningWorker {
  readonly endpoint: Remote<PageWorker>;
  readonly batch: MessageBatch<PageCall>;
}

type FromWorker = Partial<PageAnswers> &
  (
    | ClearedMessage
    | PortOffer
    | AliveMessage
    | ReplicationMessage
    | SandboxRequest
    | OutdatedMessage
    | { readonly type?: never }
  );

/** Unlike the `TypeError` of a failed request, it shows that none will succeed. */
export const closed = () => new DOMException('This Settee was closed; call start() again', 'InvalidStateError');
const GONE = 'The page was left, or its worker was stuck, during this request';
const CLEARED = 'The browser has cleared the data of this site during this request';

/** A storage that is closed by force again within this time is left alone until it is needed. */
const CLEARED_AGAIN_MS = 1000;

export class WorkerSupervisor {
  readonly #url: URL;
  readonly #options: WorkerOptions;
  readonly #events: WorkerEvents;
  /** The calls that wait for the present worker, by number. Called with the response, or with the reason when the worker ends. */
  readonly #waiting = new Map<number, (answer: PageAnswer | string) => void>();
  readonly #listening = new AbortController();
  readonly #pending: PendingReplications;
  readonly #sandboxes = new PageSandboxes();
  /** Set as soon as the service starts to end. */
  #closed: Promise<void> | undefined;
  #calls = 0;
  /** When the storage was last closed by force, on the page's clock. */
  #clearedAt = Number.NEGATIVE_INFINITY;
  #worker: Worker | undefined;
  #running: RunningWorker | undefined;
  #starting: Promise<RunningWorker> | undefined;
  /** The worker that must give signs of life. */
  #watched: RunningWorker | undefined;
  /** Resolves when the page is shown again; undefined while it is shown. */
  #shown: Promise<unknown> | undefined;

  constructor(url: URL, options: WorkerOptions, events: WorkerEvents) {
    this.#url = url;
    this.#options = options;
    this.#events = events;
    this.#pending = new PendingReplications(options.base);
    // The controller's signal ends the listening.
    addEventListener('pagehide', () => this.#leave(), this.#listening);
    addEventListener('pageshow', () => this.#return(), this.#listening);
  }

  /** Resolves when a worker answers. Rejects with an Error that says why none can; the next call tries again. */
  whenRunning(): Promise<RunningWorker> {
    this.#starting ??= this.#startUntilShown().catch((error) => {
      this.#end();
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  async status(): Promise<WorkerStatus> {
    const { endpoint } = await this.whenRunning();
    return (await this.#unlessLost(endpoint.status())) ?? this.status();
  }

  /** Rejects with a TypeError if the request can't be carried out at all, with its signal's reason, or because this was closed. */
  handle(request: Outgoing): Promise<WireResponse> {
    return this.#running && !this.#closed ? this.#call(this.#running, request) : this.#callNext(request);
  }

  /** Calls the next worker, once it runs. */
  async #callNext(request: Outgoing): Promise<WireResponse> {
    request.signal?.throwIfAborted();
    if (this.#closed) throw closed();
    return this.whenRunning().then(
      (running) => this.#call(running, request),
      (error) => serviceUnavailable(String(error)),
    );
  }

  /**
   * Lets the worker finish what is in progress, then ends it; at once if the page is left meanwhile. The worker is told at the end of this
   * turn, after the requests that were made in it.
   */
  close(): Promise<void> {
    this.#closed ??= this.#unlessLost(Promise.resolve().then(() => this.#running?.endpoint.close())).finally(() => {
      this.#end();
      this.#listening.abort();
    });
    return this.#closed;
  }

  #leave(): void {
    this.#pending.leave();
    this.#shown = new Promise((resolve) => addEventListener('pageshow', resolve, { once: true }));
    this.#end();
  }

  /** Starts a new worker even without a call, so that this page owns the storage if no other does. */
  #return(): void {
    if (this.#shown) this.whenRunning().catch(() => {});
    this.#shown = undefined;
  }

  /** If the page is left while a worker starts, another one is started when the page is shown again. */
  async #startUntilShown(): Promise<RunningWorker> {
    for (;;) {
      await this.#shown;
      if (this.#closed) throw closed();
      this.#running = await this.#start();
      if (this.#running) return this.#running;
    }
  }

  /** Resolves to undefined when the page was left meanwhile. Rejects with the worker's own error, or with why its script doesn't run. */
  #start(): Promise<RunningWorker | undefined> {
    return startScript('worker', this.#url, async () => {
      const worker = new Worker(scriptAddress(this.#url), { type: 'module', name: 'settee' });
      this.#worker = worker;
      worker.onmessage = (event: MessageEvent<FromWorker>) => {
        const { data } = event;
        if (this.#worker === worker) for (const answer of data.answers ?? []) this.#waiting.get(answer[0])?.(answer);
        // Checked first, since reading the event's ports takes a hundredth of a request. Comlink's own messages also have types.
        if (data.type === 'SETTEE_REPLICATION') this.#pending.note(data);
        else if (data.type === 'SETTEE_SANDBOX') this.#sandboxes.start(data, event.ports);
        else if (data.type === 'SETTEE_CLEARED') this.#replace(worker);
        else if (data.type === 'SETTEE_OUTDATED') this.#events.onOutdated();
        else if (data.type && data.base) navigator.serviceWorker?.controller?.postMessage(data, [...event.ports]);
      };
      const endpoint = wrap<PageWorker>(worker);
      const broken = new Promise<never>((_, reject) => {
        worker.onerror = ({ message }) => reject(message);
        this.#expectSign(endpoint.status(), reject).catch(() => {});
      });
      const batch = new MessageBatch<PageCall>((calls, ports) => worker.postMessage({ calls }, ports));
      const opened = endpoint.open(this.#options).then(() => ({ endpoint, batch }));
      return this.#unlessLost(Promise.race([opened, broken]));
    });
  }

  /**
   * Gives up on a worker that says nothing: Settee's worker gives a sign as soon as it has begun. The script may take long to load, but not
   * if the page could load it meanwhile.
   */
  async #expectSign(sign: Promise<unknown>, giveUp: (why: string) => void): Promise<void> {
    if (await withinDeadline(sign)) return;
    await (await fetch(this.#url)).text();
    if (!(await withinDeadline(sign))) giveUp('it does not answer');
  }

  /** Rejects with the signal's reason if that comes first. */
  #call(running: RunningWorker, request: Outgoing): Promise<WireResponse> {
    if (this.#watched !== running) void this.#watch(running);
    const { batch } = running;
    return new Promise((resolve, reject) => {
      const { method, url, headers, body, signal } = request;
      signal?.throwIfAborted();
      const wire = body instanceof ReadableStream ? { stream: offerBody(body) } : body;
      const call = ++this.#calls;
      const abort = () => {
        this.#waiting.delete(call);
        reject(signal?.reason);
        batch.add([call]);
      };
      this.#waiting.set(call, (answer) => {
        this.#waiting.delete(call);
        signal?.removeEventListener('abort', abort);
        if (typeof answer === 'string') resolve(this.#callAgain(request, answer));
        else if (answer.length === 2) reject(new TypeError(answer[1]));
        else resolve({ status: answer[1], headers: answer[2], body: answer[3] });
      });
      signal?.addEventListener('abort', abort);
      batch.add([call, method, url, headers, wire, Boolean(signal)], portOf(wire));
    });
  }

  /** Ends the worker if it is stuck while calls wait for it. */
  async #watch(running: RunningWorker): Promise<void> {
    this.#watched = running;
    const isWaiting = () => this.#running === running && this.#waiting.size > 0;
    const isStuck = await untilStuck(isWaiting, () => running.endpoint.status());
    if (this.#watched === running) this.#watched = undefined;
    if (isStuck) this.#end();
  }

  /** To be called when the worker that had the request has ended. */
  #callAgain(request: Outgoing, why: string): MaybePromise<WireResponse> {
    return isReadOnlyRequest(request, this.#options.base) && !(request.body instanceof ReadableStream)
      ? this.handle(request)
      : serviceUnavailable(`${why}: it may have been carried out or not; read before you write again`);
  }

  /** Returns the result of the work, or undefined if the worker ends first. */
  #unlessLost<T>(work: Promise<T>): Promise<T | undefined> {
    const call = ++this.#calls;
    return new Promise<T | undefined>((resolve, reject) => {
      this.#waiting.set(call, () => resolve(undefined));
      work.then(resolve, reject);
    }).finally(() => this.#waiting.delete(call));
  }

  /** Starts another worker on the present storage. */
  #replace(worker: Worker): void {
    if (this.#worker !== worker || this.#closed) return;
    const isAgain = performance.now() - this.#clearedAt < CLEARED_AGAIN_MS;
    this.#clearedAt = performance.now();
    this.#end(CLEARED);
    this.#events.onCleared();
    if (!isAgain) this.whenRunning().catch(() => {});
  }

  /** Ends the worker at once, so that what it holds is free for others. */
  #end(why = GONE): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    this.#sandboxes.end();
    // A start in progress continues with the next worker.
    if (this.#running) this.#starting = undefined;
    this.#running = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const lose of waiting) lose(why);
    this.#events.onLoss(why);
  }
}
