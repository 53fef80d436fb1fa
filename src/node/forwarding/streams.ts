/** The two ends of a stream between processes: a body of a request, or of a response. */
import { DatabaseError, type ErrorCode, isDatabaseError, messageOf } from '../../base/errors/database-error.ts';
import type { ByteStream, PlainHeaders } from '../../base/shared/message.ts';
import { STATUSES } from '../../http/response/error-table.ts';
import { toBytes } from '../http/body-rules.ts';
import {
  CHUNK,
  CREDIT,
  END,
  FAIL,
  frameOf,
  MAX_CHUNK_BYTES,
  numberOf,
  parseFailure,
  parseHeaders,
  type StreamFailure,
  WINDOW_BYTES,
} from './frames.ts';
import type { Link } from './link.ts';

/** Sends a stream, as far as its receiver has room for it. */
export class StreamSender {
  readonly #link: Link;
  readonly #id: number;
  readonly #stream: ByteStream;
  #credit = WINDOW_BYTES;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(link: Link, id: number, stream: ByteStream) {
    this.#link = link;
    this.#id = id;
    this.#stream = stream;
    stream.onBreak?.(() => this.breakOff());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves when everything is sent, or nothing more will be. `onFailure` is called if the stream breaks off. Never rejects. */
  async run(onFailure: (error: unknown) => void): Promise<void> {
    try {
      for (;;) {
        const chunk = await this.#stream.pull();
        if (this.#isOver) return;
        if (chunk === undefined) break;
        await this.#send(chunk);
        if (this.#isOver) return;
      }
      this.#isOver = true;
      const { trailers } = this.#stream;
      this.#link.send(frameOf(END, this.#id, trailers === undefined ? '' : JSON.stringify(trailers)));
    } catch (error) {
      if (this.#isOver) return;
      onFailure(error);
      this.#fail(error);
    }
  }

  grant(bytes: number): void {
    this.#credit += bytes;
    this.#wake?.();
  }

  /** Nothing more is wanted. `reason`: see `ByteStream.cancel`. */
  cancel(reason?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#wake?.();
    this.#stream.cancel(reason).catch(() => undefined);
  }

  /** Its reader is too slow, and others wait for the memory. */
  breakOff(): void {
    if (this.#isOver) return;
    this.#fail(new DatabaseError('too_busy', 'The stream gave way to others.'), true);
    this.#stream.cancel().catch(() => undefined);
  }

  async #send(chunk: Uint8Array): Promise<void> {
    for (let at = 0; at < chunk.length; at += MAX_CHUNK_BYTES) {
      while (this.#credit <= 0 && !this.#isOver) await this.#granted();
      while (this.#link.isFull && this.#link.isOpen && !this.#isOver) await this.#link.drained();
      if (this.#isOver || !this.#link.isOpen) return;
      const part = chunk.subarray(at, at + MAX_CHUNK_BYTES);
      this.#credit -= part.length;
      this.#link.send(frameOf(CHUNK, this.#id, part));
    }
  }

  #granted(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  #fail(error: unknown, isAtOnce = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#wake?.();
    const failure: StreamFailure = {
      ...(isDatabaseError(error) ? { code: error.code, reason: error.reason } : { reason: messageOf(error) }),
      isAtOnce,
    };
    this.#link.send(frameOf(FAIL, this.#id, JSON.stringify(failure)));
  }
}

/** A stream that comes from another process. What was not read yet is at most one window. */
export class ReceivedStream implements ByteStream {
  readonly length?: number;
  readonly #link: Link;
  readonly #id: number;
  readonly #onCancel: (reason: unknown) => void;
  #chunks: Uint8Array[] = [];
  #read = 0;
  #state: 'open' | 'ended' | 'cancelled' = 'open';
  #failure: DatabaseError | undefined;
  #trailers: PlainHeaders | undefined;
  #wake: (() => void) | undefined;
  #onBreak: (() => void) | undefined;

  /** `onCancel` is called if its reader gives up before its end. */
  constructor(link: Link, id: number, length: number | undefined, onCancel: (reason: unknown) => void) {
    this.#link = link;
    this.#id = id;
    this.#onCancel = onCancel;
    if (length !== undefined) this.length = length;
  }

  get trailers(): PlainHeaders | undefined {
    return this.#trailers;
  }

  async pull(): Promise<Uint8Array | undefined> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#count(chunk.length);
        return chunk;
      }
      if (this.#failure) throw this.#failure;
      if (this.#state !== 'open') return undefined;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async cancel(reason?: unknown): Promise<void> {
    if (this.#state !== 'open') return;
    this.#state = 'cancelled';
    this.#chunks = [];
    this.#failure = new DatabaseError('cancelled', 'The stream was not read to its end: its reader gave up.');
    this.#onCancel(reason);
    this.#wake?.();
  }

  onBreak(act: () => void): void {
    this.#onBreak = act;
  }

  take(payload: Buffer): void {
    if (this.#state !== 'open') return;
    this.#chunks.push(toBytes(payload));
    this.#wake?.();
  }

  end(payload: Buffer): void {
    if (this.#state !== 'open') return;
    this.#trailers = parseHeaders(payload.toString());
    this.#state = 'ended';
    this.#wake?.();
  }

  /** What has come before can still be read, except if it breaks off at once. */
  fail({ code, reason, isAtOnce }: StreamFailure): void {
    if (this.#state !== 'open') return;
    this.#failure = new DatabaseError(isErrorCode(code) ? code : 'cancelled', reason);
    this.#state = 'ended';
    if (isAtOnce === true) {
      this.#chunks = [];
      this.#onBreak?.();
    }
    this.#wake?.();
  }

  failBy(payload: Buffer): void {
    this.fail(parseFailure(payload.toString()));
  }

  /** Room is reported in large steps. */
  #count(bytes: number): void {
    this.#read += bytes;
    if (this.#read < WINDOW_BYTES / 4 || this.#state !== 'open') return;
    this.#link.send(frameOf(CREDIT, this.#id, numberOf(this.#read)));
    this.#read = 0;
  }
}

export function isErrorCode(code: string | undefined): code is ErrorCode {
  return code !== undefined && Object.hasOwn(STATUSES, code);
}
