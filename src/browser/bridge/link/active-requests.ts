import { type MaybePromise, whenReady, withEnd } from '../../../base/shared/maybe-promise.ts';
import type { ByteStream, PlainRequest, PlainResponse } from '../../../base/shared/message.ts';
import { isStream } from '../wire-codec.ts';

/**
 * Counts what is in progress: requests until they are answered, and bodies of responses until they are read to their end or cancelled. For
 * callers that wait until nothing is in progress any more.
 */
export class ActiveRequests {
  #count = 0;
  #idleWaiters: (() => void)[] = [];
  readonly #onIdle: (() => void) | undefined;

  /** `onIdle` is called whenever the last of it ends. */
  constructor(onIdle?: () => void) {
    this.#onIdle = onIdle;
  }

  get count(): number {
    return this.#count;
  }

  /** Has the request handled, and counts it and the body of its response. */
  run<R extends PlainResponse | undefined>(
    handle: (request: PlainRequest) => MaybePromise<R>,
    request: PlainRequest,
  ): MaybePromise<R> {
    this.#count += 1;
    let isOver = true;
    const counted = (response: R): R => {
      const body = response?.body ?? null;
      if (!isStream(body)) return response;
      isOver = false;
      return { ...response, body: new CountedStream(body, () => this.#end()) };
    };
    return withEnd(
      () => whenReady(handle(request), counted),
      () => {
        if (isOver) this.#end();
      },
    );
  }

  /** Resolves to true when nothing is in progress and the last response has reached its receiver; to false when `withinMs` passes first. */
  idle(withinMs: number): Promise<boolean> {
    if (this.#count === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), withinMs);
      this.#idleWaiters.push(() => {
        clearTimeout(timer);
        setTimeout(resolve, 0, true);
      });
    });
  }

  #end(): void {
    this.#count -= 1;
    if (this.#count > 0) return;
    for (const resume of this.#idleWaiters.splice(0)) resume();
    this.#onIdle?.();
  }
}

/** Calls `onOver` once: at the end, at a failure, or when it is cancelled. */
class CountedStream implements ByteStream {
  readonly length?: number;
  readonly pullText?: () => Promise<string | undefined>;
  readonly #stream: ByteStream;
  readonly #onOver: () => void;
  #isOver = false;

  constructor(stream: ByteStream, onOver: () => void) {
    this.#stream = stream;
    this.#onOver = onOver;
    if (stream.length !== undefined) this.length = stream.length;
    if (stream.pullText !== undefined) this.pullText = () => this.#counted(stream.pullText?.());
  }

  pull(): Promise<Uint8Array | undefined> {
    return this.#counted(this.#stream.pull());
  }

  async #counted<C>(next: Promise<C | undefined> | undefined): Promise<C | undefined> {
    try {
      const chunk = await next;
      if (chunk === undefined) this.#over();
      return chunk;
    } catch (error) {
      this.#over();
      throw error;
    }
  }

  async cancel(reason?: unknown): Promise<void> {
    try {
      await this.#stream.cancel(reason);
    } finally {
      this.#over();
    }
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onOver();
  }
}
