import type { Socket } from 'node:net';
import { messageOf } from '../../base/errors/database-error.ts';
import { isThreadWanted } from '../../base/shared/turn.ts';
import { FRAME_HEADER_BYTES, MAX_FRAME_BYTES } from './frames.ts';

/** Frames that wait for the end of the turn are sent at once from this many bytes on. */
const MAX_WAITING_BYTES = 65_536;
/** Fewer bytes are copied together for one write. */
const MAX_JOINED_BYTES = 131_072;
/** How long the other end may take to close its side, in milliseconds. It may have gone without a word. */
const MAX_END_MS = 5_000;

export interface LinkEvents {
  /** `payload` is only valid during the call, unless its memory may be kept as long as what arrived with it. */
  onFrame(kind: number, id: number, payload: Buffer): void;
  /** Called once. `why` is undefined if the other end closed the connection. */
  onClose(why: string | undefined): void;
}

/** One connection between two processes, which carries frames. What is sent in one turn of the event loop goes out in one write. */
export class Link {
  readonly #socket: Socket;
  readonly #events: LinkEvents;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isScheduled = false;
  readonly #onDrain = new Set<() => void>();
  /** Parts of a frame whose rest has not come yet. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  #neededBytes = FRAME_HEADER_BYTES;
  #fault: string | undefined;
  #maxFrameBytes: number;
  #receivedBytes = 0;
  #isEnding = false;

  /** Longer frames than `maxFrameBytes` end the connection. */
  constructor(socket: Socket, events: LinkEvents, maxFrameBytes = MAX_FRAME_BYTES) {
    this.#socket = socket;
    this.#events = events;
    this.#maxFrameBytes = maxFrameBytes;
    socket.on('data', (data: Buffer) => this.#take(data));
    // Node does so by itself only if the socket was not made for HTTP.
    socket.once('end', () => this.end());
    socket.on('drain', () => this.#drained());
    socket.on('error', (error) => {
      this.#fault ??= error.message;
    });
    socket.once('close', () => {
      this.#drained();
      events.onClose(this.#fault);
    });
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** Whether a stream should wait for `drained`. */
  get isFull(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** What has come in all, parts of frames included. */
  get receivedBytes(): number {
    return this.#receivedBytes;
  }

  /** From now on, the other end is known. */
  takeLongFrames(): void {
    this.#maxFrameBytes = MAX_FRAME_BYTES;
  }

  /** Resolves when more can be sent, or the connection has ended. */
  drained(): Promise<void> {
    return new Promise((resolve) => this.#onDrain.add(resolve));
  }

  send(frame: readonly Buffer[]): void {
    if (this.#socket.destroyed || this.#isEnding) return;
    for (const part of frame) {
      this.#waiting.push(part);
      this.#waitingBytes += part.length;
    }
    if (this.#waitingBytes >= MAX_WAITING_BYTES || isThreadWanted()) this.#flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#flush();
      });
    }
  }

  /** Sends what waits, and closes the connection. */
  end(): void {
    if (this.#isEnding || this.#socket.destroyed) return;
    this.#isEnding = true;
    this.#flush();
    this.#socket.end();
    const deadline = setTimeout(() => this.#socket.destroy(), MAX_END_MS).unref();
    this.#socket.once('close', () => clearTimeout(deadline));
  }

  destroy(why?: string): void {
    this.#fault ??= why;
    this.#socket.destroy();
  }

  #flush(): void {
    const parts = this.#waiting;
    if (parts.length === 0 || this.#socket.destroyed) return;
    const bytes = this.#waitingBytes;
    this.#waiting = [];
    this.#waitingBytes = 0;
    if (bytes <= MAX_JOINED_BYTES) {
      this.#socket.write(parts.length === 1 ? (parts[0] ?? '') : Buffer.concat(parts, bytes));
      return;
    }
    this.#socket.cork();
    for (const part of parts) this.#socket.write(part);
    this.#socket.uncork();
  }

  #drained(): void {
    const waiting = [...this.#onDrain];
    this.#onDrain.clear();
    for (const resume of waiting) resume();
  }

  #take(data: Buffer): void {
    this.#receivedBytes += data.length;
    this.#parts.push(data);
    this.#partBytes += data.length;
    if (this.#partBytes < this.#neededBytes) return;
    const all = this.#parts.length === 1 ? data : Buffer.concat(this.#parts, this.#partBytes);
    const rest = all.subarray(this.#handle(all));
    this.#parts = rest.length === 0 ? [] : [rest];
    this.#partBytes = rest.length;
  }

  /** Returns where the first frame begins that is not complete. */
  #handle(data: Buffer): number {
    let at = 0;
    while (data.length - at >= FRAME_HEADER_BYTES && this.isOpen) {
      const length = data.readUInt32BE(at);
      if (length > this.#maxFrameBytes) {
        this.destroy(`a frame of ${length} bytes came`);
        return data.length;
      }
      const end = at + FRAME_HEADER_BYTES + length;
      if (end > data.length) {
        this.#neededBytes = FRAME_HEADER_BYTES + length;
        return at;
      }
      this.#dispatch(data.readUInt8(at + 4), data.readUInt32BE(at + 5), data.subarray(at + FRAME_HEADER_BYTES, end));
      at = end;
    }
    this.#neededBytes = FRAME_HEADER_BYTES;
    return this.isOpen ? at : data.length;
  }

  #dispatch(kind: number, id: number, payload: Buffer): void {
    try {
      this.#events.onFrame(kind, id, payload);
    } catch (error) {
      this.destroy(`a frame could not be read: ${messageOf(error)}`);
    }
  }
}
