/**
 * The bodies that flow through a service worker. Each keeps the service worker alive until it is over: until its source ends or fails, or its
 * reader cancels. The reader of a source that fails gets an error, never an end; except for event sources, which connect again after an end, and
 * in Chromium and Firefox give up permanently after an error. Firefox ends a service worker 60 s after the last event,
 * whatever is open, and reports a clean end to readers; so in Firefox bodies fail before that.
 */
import { pause } from '../../base/shared/clock.ts';
import type { ByteStream, PlainResponse } from '../../base/shared/message.ts';
import { isStream } from '../bridge/wire-codec.ts';
import { BrokenOff, EVENT_STREAM } from './event-ids.ts';

/** From this size on, freeing the memory costs less than leaving it. */
const LARGE_BYTES = 16_384;

/**
 * Takes chunks that are no longer read, and frees their memory at once. Chromium's collector would do so only when a thread has 64 MB
 * of them, since it sees only a small object for each chunk. Memory that moves into a port leaves this thread, and a port without another side
 * drops it. `ArrayBuffer.prototype.transfer` does not help: Chromium keeps the memory of what came in a message until the object is
 * collected, and no longer counts it, so that nothing bounds it.
 */
class SpentChunks {
  readonly #port: MessagePort;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    port2.close();
    this.#port = port1;
  }

  drop({ buffer }: Uint8Array): void {
    if (buffer instanceof ArrayBuffer && buffer.byteLength >= LARGE_BYTES) this.#port.postMessage(undefined, [buffer]);
  }
}

/** Statuses that never have a body (Fetch, 2.2.3); a Response refuses one. */
const BODILESS: readonly number[] = [204, 205, 304];

/** How long bodies stay open in Firefox without any event, and how often that is checked. */
const SILENCE_MS = 50_000;
const CHECK_MS = 5000;

/** How long a failure takes to reach the reader: in Firefox a service worker that ends earlier reports a clean end to that reader. */
const FAILURE_MS = 300;

/** Differences between browsers. */
export interface BrowserTraits {
  /** Ends a service worker whatever is open, and reports a clean end to readers. */
  readonly endsSilently: boolean;
  /** Leaves much unused data in memory (`SpentChunks`). */
  readonly collectsLate: boolean;
}

export function traitsOf({ userAgent }: { readonly userAgent: string }): BrowserTraits {
  return { endsSilently: userAgent.includes(' Firefox/'), collectsLate: userAgent.includes('Chrome/') };
}

export class OpenBodies {
  readonly #open = new Set<BodySource>();
  readonly #spent: SpentChunks | undefined;
  /** Undefined in browsers that let a body fail when its service worker ends. */
  #lastEvent: number | undefined;
  #checking: ReturnType<typeof setInterval> | undefined;
  #draining: Promise<void> | undefined;

  constructor(browser: BrowserTraits) {
    if (browser.endsSilently) this.#lastEvent = performance.now();
    if (browser.collectsLate) this.#spent = new SpentChunks();
  }

  /** To be called for each event that keeps the service worker alive. */
  noteEvent(): void {
    if (this.#lastEvent !== undefined) this.#lastEvent = performance.now();
  }

  /** Returns the body in the form that a Response takes. HEAD gets none, since some browsers would show it. */
  open(event: FetchEvent, { status, headers, body }: PlainResponse): BodyInit | null {
    const isEmpty = event.request.method === 'HEAD' || BODILESS.includes(status);
    if (!isStream(body)) return isEmpty || body === null ? null : toBodyInit(body);
    if (isEmpty) {
      void body.cancel('no one reads it').catch(() => {});
      return null;
    }
    const spent = body.isMovable ? this.#spent : undefined;
    const source = new BodySource(body, headers['content-type'] === EVENT_STREAM, spent);
    this.#open.add(source);
    event.waitUntil(source.done.then(() => this.#forget(source)));
    if (this.#lastEvent !== undefined) this.#checking ??= setInterval(() => this.#check(), CHECK_MS);
    return new ReadableStream(source, { highWaterMark: 0 });
  }

  /** Resolves when no body is open any more; bodies that are still open after the given time fail. Calls that overlap share one deadline. */
  drain(ms: number): Promise<void> {
    this.#draining ??= this.#drain(ms).finally(() => {
      this.#draining = undefined;
    });
    return this.#draining;
  }

  async #drain(ms: number): Promise<void> {
    let hasFailed = false;
    const timer = setTimeout(() => {
      hasFailed = this.#open.size > 0;
      this.#failAll('A new version of this app takes over; send the request again');
    }, ms);
    await Promise.all([...this.#open].map(({ done }) => done));
    clearTimeout(timer);
    if (hasFailed) await pause(FAILURE_MS);
  }

  #check(): void {
    const since = performance.now() - (this.#lastEvent ?? Number.POSITIVE_INFINITY);
    if (since > SILENCE_MS) this.#failAll('The browser is about to end the service worker; send the request again');
  }

  #failAll(reason: string): void {
    for (const source of this.#open) source.fail(new BrokenOff(reason));
  }

  #forget(source: BodySource): void {
    this.#open.delete(source);
    if (this.#open.size > 0) return;
    clearInterval(this.#checking);
    this.#checking = undefined;
  }
}

class BodySource implements UnderlyingDefaultSource<Uint8Array> {
  /** Resolves when the body is over. */
  readonly done: Promise<void>;
  readonly #stream: ByteStream;
  readonly #endsAfterFailure: boolean;
  readonly #spent: SpentChunks | undefined;
  #last: Uint8Array | undefined;
  #end: () => void = () => {};
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** `spent` takes chunks that were read, if no one else uses them. */
  constructor(stream: ByteStream, endsAfterFailure: boolean, spent: SpentChunks | undefined) {
    this.#stream = stream;
    this.#spent = spent;
    this.#endsAfterFailure = endsAfterFailure;
    this.done = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#controller = controller;
  }

  async pull(): Promise<void> {
    this.#dropLast();
    try {
      const chunk = await this.#stream.pull();
      this.#last = chunk;
      if (chunk !== undefined) this.#controller?.enqueue(chunk);
      else this.#finish()?.close();
    } catch (error) {
      this.#break(error);
    }
  }

  cancel(reason: unknown): Promise<void> {
    this.#finish();
    return this.#stream.cancel(reason);
  }

  fail(error: BrokenOff): void {
    this.#break(new TypeError(error.message));
    void this.#stream.cancel(error).catch(() => {});
  }

  /** The browser copies what it has read before it asks for more (Fetch, 2.2.4: "incrementally read a body"). */
  #dropLast(): void {
    const last = this.#last;
    this.#last = undefined;
    if (last !== undefined) this.#spent?.drop(last);
  }

  #break(error: unknown): void {
    const controller = this.#finish();
    if (this.#endsAfterFailure) controller?.close();
    else controller?.error(error);
  }

  /** Ends the body; returns its controller, if it was not over yet. */
  #finish(): ReadableStreamDefaultController<Uint8Array> | undefined {
    const controller = this.#controller;
    this.#controller = undefined;
    this.#end();
    return controller;
  }
}

/** The copy, of a small body, shows the compiler that the memory isn't shared between threads. */
function toBodyInit(body: string | Uint8Array): BodyInit {
  return typeof body === 'string' ? body : new Uint8Array(body);
}
