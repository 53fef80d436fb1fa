/** A stream that is compressed as far as its client reads, and flushed whenever it has to wait for more. */
import type { BrotliCompress, Gzip } from 'node:zlib';
import type { ByteStream } from '../../base/shared/message.ts';
import { type Coding, createCompressor } from './compressors.ts';

/** Chunks are put together up to this length: each takes a turn of another thread. */
const INPUT_BYTES = 32_768;

export class CompressedStream implements ByteStream {
  readonly #source: ByteStream;
  readonly #compressor: Gzip | BrotliCompress;
  #onEnd: (() => void) | undefined;
  #output: Buffer[] = [];
  /** The source's next chunk. At most one is asked for before the client asks. */
  #next: Promise<Uint8Array | undefined> | undefined;
  /** Whether the compressor keeps something back. */
  #isUnflushed = false;
  #isEnded = false;
  #isCancelled = false;
  #failure: { readonly cause: unknown } | undefined;

  /** `onEnd` is called once, when the compressor's memory is free. */
  constructor(source: ByteStream, coding: Coding, onEnd: () => void) {
    this.#source = source;
    this.#onEnd = onEnd;
    this.#compressor = createCompressor(coding);
    this.#compressor.on('data', (chunk: Buffer) => this.#output.push(chunk));
    this.#compressor.on('error', () => undefined);
  }

  async pull(): Promise<Uint8Array | undefined> {
    try {
      for (;;) {
        if (this.#output.length > 0) return this.#takeOutput();
        if (this.#failure !== undefined) throw this.#failure.cause;
        if (this.#isEnded) break;
        await this.#step();
      }
    } catch (error) {
      this.#release();
      if (!this.#isCancelled) throw error;
    }
    this.#release();
    return undefined;
  }

  async cancel(reason?: unknown): Promise<void> {
    this.#isCancelled = true;
    this.#release();
    await this.#source.cancel(reason);
  }

  onBreak(act: () => void): void {
    this.#source.onBreak?.(act);
  }

  #takeOutput(): Uint8Array {
    const [first = Buffer.alloc(0), ...more] = this.#output;
    this.#output = [];
    return more.length === 0 ? first : Buffer.concat([first, ...more]);
  }

  /** Compresses what the source has now. What was kept back goes out before a wait, the end, or a failure, whose reason it may be. */
  async #step(): Promise<void> {
    const { input, state } = await this.#gather();
    if (input.length > 0) await this.#write(input);
    if (state === 'end') {
      this.#isEnded = true;
      await this.#finish();
    } else if (state !== 'more' && this.#isUnflushed) await this.#flush();
  }

  async #gather(): Promise<{ readonly input: Uint8Array; readonly state: 'more' | 'wait' | 'end' | 'failure' }> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    const gathered = () => (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    while (bytes < INPUT_BYTES) {
      this.#next ??= this.#askSource();
      if ((bytes > 0 || this.#isUnflushed) && !(await isSettledSoon(this.#next)))
        return { input: gathered(), state: 'wait' };
      const chunk = await this.#next;
      this.#next = undefined;
      if (chunk === undefined) return { input: gathered(), state: this.#failure === undefined ? 'end' : 'failure' };
      chunks.push(chunk);
      bytes += chunk.length;
    }
    return { input: gathered(), state: 'more' };
  }

  async #askSource(): Promise<Uint8Array | undefined> {
    try {
      return await this.#source.pull();
    } catch (cause) {
      this.#failure = { cause };
      return undefined;
    }
  }

  #write(input: Uint8Array): Promise<void> {
    this.#isUnflushed = true;
    return new Promise((resolve, reject) => {
      this.#compressor.write(input, (error) => (error ? reject(error) : resolve()));
    });
  }

  async #flush(): Promise<void> {
    this.#isUnflushed = false;
    await this.#untilDone((done) => this.#compressor.flush(done));
  }

  #finish(): Promise<void> {
    return this.#untilDone((done) => {
      this.#compressor.once('end', done);
      this.#compressor.end();
    });
  }

  /** A compressor that was destroyed meanwhile calls nothing back. */
  #untilDone(act: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#compressor.once('close', resolve);
      act(() => {
        this.#compressor.off('close', resolve);
        resolve();
      });
    });
  }

  #release(): void {
    this.#compressor.destroy();
    this.#onEnd?.();
    this.#onEnd = undefined;
  }
}

/** Whether it settles in this turn of the event loop. */
function isSettledSoon(promise: Promise<unknown>): Promise<boolean> {
  return Promise.race([promise.then(() => true), new Promise<boolean>((resolve) => setImmediate(resolve, false))]);
}
