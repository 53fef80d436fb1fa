/** Ends a request whose peer gives no sign for too long. */
import { AttemptFailure } from './attempt-failure.ts';

export class Watchdog {
  readonly #limitMs: number | undefined;
  readonly #onSilence: () => void;
  readonly #name: string;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #bark: ((failure: AttemptFailure) => void) | undefined;

  /** `limitMs`: undefined for no limit. */
  constructor(name: string, limitMs: number | undefined, onSilence: () => void) {
    this.#name = name;
    this.#limitMs = limitMs;
    this.#onSilence = onSilence;
  }

  /** Waits for the peer, at first for `moreMs` longer. Fails if no sign comes in time; the later outcome of the work is ignored. */
  during<T>(work: Promise<T>, moreMs = 0): Promise<T> {
    if (this.#limitMs === undefined) return work;
    return new Promise((resolve, reject) => {
      this.#bark = reject;
      this.#begin(moreMs);
      work.then(resolve, reject).finally(() => {
        this.#bark = undefined;
        this.pause();
      });
    });
  }

  /** The peer gave a sign of life: the time begins again. */
  sign(): void {
    this.#begin(0);
  }

  /** Pauses until the next sign: the wait is not for the peer. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  #begin(moreMs: number): void {
    this.pause();
    if (this.#limitMs === undefined || this.#bark === undefined) return;
    const waitMs = this.#limitMs + moreMs;
    this.#timer = setTimeout(() => this.#end(waitMs), waitMs);
  }

  #end(waitMs: number): void {
    const message = `${this.#name} sent nothing for ${Math.round(waitMs) / 1_000} s`;
    this.#bark?.(new AttemptFailure(message, { isSilence: true }));
    this.#onSilence();
  }
}

/** Yields the chunks; each request for one is a sign of life of the reader. While a chunk is being produced the watchdog pauses. */
export async function* underWatch(
  chunks: AsyncIterable<Uint8Array>,
  watchdog: Watchdog,
): AsyncGenerator<Uint8Array, void, void> {
  watchdog.pause();
  for await (const chunk of chunks) {
    watchdog.sign();
    yield chunk;
    watchdog.pause();
  }
  watchdog.sign();
}
