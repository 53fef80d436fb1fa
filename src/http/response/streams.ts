/**
 * Turns text that is produced piece by piece into a response body. Small text becomes one string; the rest a stream
 * of chunks that are produced when they are pulled, so that memory and snapshots are not held for no one.
 */
import type { ByteStream, ResponseBody } from '../../base/shared/message.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Log } from '../../base/system/contract.ts';
import { isStream } from '../request/bodies.ts';
import type { Context } from '../request/context.ts';
import { isInternal } from './error-table.ts';

/** Where the text comes from. */
export interface TextSource {
  readonly pieces: AsyncGenerator<string, void, void>;
  /** Called once: at the end, after a failure, or when no one reads on. */
  release(): void;
}

/** UTF-16 units, which is 64 KB for most texts. */
export const CHUNK_UNITS = 65_536;

/** How much text is joined in memory: as small pieces a chunk would take five times its bytes, and a thousand may be built at once. */
const FLAT_UNITS = 2_048;

/**
 * Produces the first chunk, so that an immediate failure still has its own status. Takes over the source: it is
 * released in every case, provided that a stream is pulled to its end or cancelled.
 */
export async function textBody(source: TextSource, log: Log): Promise<ResponseBody> {
  return begun(new TextStream(source, log));
}

/** Over a network, limits how many are begun at a time: the documents that are read for a first chunk may be large. */
function begunInTurn(context: Context, stream: TextStream): Promise<ResponseBody> {
  const { beginnings } = context.services;
  if (context.request.peer === undefined || beginnings === undefined) return begun(stream);
  return beginnings.run(() => begun(stream), context.memory.owner);
}

async function begun(stream: TextStream): Promise<ResponseBody> {
  const first = await stream.gather();
  return stream.ended ? first : stream.startingWith(first);
}

/**
 * Returns the response body. For HEAD only the first chunk is built, so that status and length are those of GET (docs/http/requests.md#head);
 * if more would follow, nothing is held any longer.
 */
export async function streamedBody(
  context: Context,
  pieces: TextSource['pieces'],
  release: () => void,
): Promise<ResponseBody> {
  const body = await begunInTurn(context, new TextStream({ pieces, release }, context.services.log));
  if (!context.isHead || !isStream(body)) return body;
  await body.cancel();
  return null;
}

/** Like `streamedBody`, for a text of that many bytes. */
export async function sizedBody(context: Context, source: TextSource, bytes: number): Promise<ResponseBody> {
  return begunInTurn(context, new TextStream(source, context.services.log, bytes));
}

class TextStream implements ByteStream {
  readonly length?: number;
  ended = false;
  /** Text that was gathered but not returned yet. */
  #first: string | undefined;
  readonly #source: TextSource;
  readonly #log: Log;
  readonly #encoder = new TextEncoder();
  /** A reader that always takes what is there would block the thread to the end: promises alone give no other work a turn. */
  readonly #timeSlice = new TimeSlice();

  constructor(source: TextSource, log: Log, length?: number) {
    this.#source = source;
    this.#log = log;
    if (length !== undefined) this.length = length;
  }

  startingWith(first: string): this {
    this.#first = first;
    return this;
  }

  async pull(): Promise<Uint8Array | undefined> {
    const text = await this.pullText();
    return text === undefined ? undefined : this.#encoder.encode(text);
  }

  async pullText(): Promise<string | undefined> {
    const first = this.#first;
    if (first !== undefined) {
      this.#first = undefined;
      return first;
    }
    if (this.ended) return undefined;
    return (await this.#gatherLate()) || undefined;
  }

  async cancel(): Promise<void> {
    this.#first = undefined;
    if (this.ended) return;
    this.ended = true;
    try {
      // Waits for the current step, which may be reading from the snapshot.
      await this.#source.pieces.return();
    } finally {
      this.#source.release();
    }
  }

  /** Gathers at least a chunk of text, or all that is left of it. */
  async gather(): Promise<string> {
    let text = '';
    let latest = '';
    try {
      while (text.length + latest.length < CHUNK_UNITS && !this.ended) {
        if (this.#timeSlice.isDue) await this.#timeSlice.rest();
        const step = await this.#source.pieces.next();
        if (step.done === true) {
          this.#end();
          break;
        }
        latest += step.value;
        if (latest.length < FLAT_UNITS) continue;
        // Engines keep a text as its pieces until a character of it is read.
        latest.charCodeAt(0);
        text += latest;
        latest = '';
      }
    } catch (error) {
      this.#end();
      throw error;
    }
    return text + latest;
  }

  /** Gathers after the head has been sent: a failure can only break the response off, so that no one takes the part for the whole. */
  async #gatherLate(): Promise<string> {
    try {
      return await this.gather();
    } catch (error) {
      if (isInternal(error)) this.#log.error('A streamed response broke off', error);
      throw error;
    }
  }

  /** Does nothing after a cancellation, which ends the source itself. */
  #end(): void {
    if (this.ended) return;
    this.ended = true;
    this.#source.release();
  }
}
