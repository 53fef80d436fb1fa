/** The body of an answer that tells of what happens as it happens: each piece goes out by itself, and newlines between show that it is alive. */
import { tooBusy } from '../../base/errors/too-busy.ts';
import { startBackgroundTimer } from '../../base/shared/background-timer.ts';
import type { ByteLease } from '../../base/shared/byte-budget.ts';
import type { ByteStream } from '../../base/shared/message.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Context } from '../request/context.ts';
import { isInternal } from './error-table.ts';
import { OpenGrant } from './open-grant.ts';

export interface LiveSource {
  readonly pieces: AsyncGenerator<string, void, void>;
  /** Whether the middle of what is told is under way, in which nothing else may stand; by default it never is. */
  readonly rows?: { readonly isInside: boolean };
  /** After so many milliseconds in which nothing was told, however long the next piece takes; undefined for never. */
  readonly heartbeatMs: number | undefined;
  /** Has `pieces` end, also in the middle of a wait. Called when nobody reads on. */
  close(): void;
}

/** As a piece: the next one may take any time, and next to no memory is held until then. */
export const WAITS = '';
const HEARTBEAT = '\n';
/**
 * What a feed that has nothing to tell yet begins with. Firefox keeps back the head of an answer that comes through a service worker
 * until its body begins: whoever waits for the head before it writes would wait for ever.
 */
const BEGINNING = '\n';
/** Has an EventSource forget the last id that it got, which means nothing in a database that is made where this one was. */
export const FORGET_EVENT_ID = 'id:\n\n';
/** What is held while the pieces are made, and wait for a reader that is slow, about. */
const HELD_BYTES = 262_144;
/** As well, of what is there to be told at the beginning, with the garbage of what was told before. */
const BACKLOG_BYTES = 1_048_576;

export class LiveBody implements ByteStream {
  readonly #source: LiveSource;
  readonly #context: Context;
  readonly #lease: ByteLease;
  readonly #grant: OpenGrant;
  readonly #encoder = new TextEncoder();
  readonly #timeSlice = new TimeSlice();
  /** Whether there is room for what is there already, as long as that is not known. */
  #room: Promise<boolean> | undefined;
  #isCancelled = false;
  #hasBegun = false;
  /** The piece that is being waited for. */
  #next: LatePiece | undefined;

  constructor(source: LiveSource, context: Context) {
    this.#source = source;
    this.#context = context;
    this.#lease = context.services.bytesInFlight.open(context.memory.owner);
    this.#grant = new OpenGrant(context, () => source.close());
    if (context.request.peer === undefined) this.#hold();
    else this.#waitForRoom();
  }

  async pull(): Promise<Uint8Array | undefined> {
    const text = await this.pullText();
    return text === undefined ? undefined : this.#encoder.encode(text);
  }

  async pullText(): Promise<string | undefined> {
    this.#lease.ownTurn();
    if (this.#room !== undefined) await this.#beRoom(this.#room);
    if (this.#timeSlice.isDue) await this.#timeSlice.rest();
    const text = await this.#nextText();
    this.#hasBegun = true;
    this.#lease.theirTurn(text?.length);
    return text;
  }

  onBreak(act: () => void): void {
    this.#lease.giveWay = act;
  }

  async #nextText(): Promise<string | undefined> {
    const { clock } = this.#context.services;
    const { heartbeatMs } = this.#source;
    // Of the text, not of the piece: changes that a filter lets pass nothing of make pieces that tell nothing, as often as they come.
    const dueAt = heartbeatMs === undefined ? undefined : clock.monotonic() + heartbeatMs;
    try {
      for (;;) {
        this.#next ??= new LatePiece(this.#source.pieces.next());
        const isThere = dueAt === undefined || (await this.#next.isThereWithin(dueAt - clock.monotonic()));
        if (!isThere && this.#source.rows?.isInside !== true) return HEARTBEAT;
        const step = await this.#next.step;
        this.#next = undefined;
        await this.#grant.assert();
        if (step.done === true || step.value === WAITS) this.#lease.release();
        else this.#hold();
        if (step.done === true) return this.#end();
        if (step.value !== WAITS) return step.value;
        if (!this.#hasBegun) return BEGINNING;
      }
    } catch (error) {
      this.#next?.step.catch(() => undefined);
      this.#next = undefined;
      this.#lease.release();
      this.#grant.end();
      this.#source.close();
      if (isInternal(error)) this.#context.services.log.error('A feed broke off', error);
      throw error;
    }
  }

  #end(): undefined {
    this.#grant.end();
  }

  async cancel(): Promise<void> {
    this.#isCancelled = true;
    this.#grant.end();
    // What is being waited for ends then; that it may fail concerns nobody any more.
    this.#source.close();
    this.#next?.step.catch(() => undefined);
    try {
      await this.#source.pieces.return();
    } finally {
      this.#lease.release();
    }
  }

  /** There may be much to tell at the beginning: nothing of it is made before there is room. */
  #waitForRoom(): void {
    const room = this.#lease.takeForAnswer(BACKLOG_BYTES, 0);
    if (room instanceof Promise) this.#room = room.then((isThere) => this.#settle(isThere));
    else this.#settle(room);
  }

  #settle(isThere: boolean): boolean {
    this.#room = undefined;
    if (this.#isCancelled) this.#lease.release();
    return isThere;
  }

  async #beRoom(room: Promise<boolean>): Promise<void> {
    if (await room) return;
    await this.cancel();
    throw tooBusy();
  }

  #hold(): void {
    if (this.#lease.bytes > 0) return;
    this.#lease.add(HELD_BYTES);
    this.#lease.settle();
  }
}

/** A piece that may come after many heartbeats: each wait for it leaves nothing behind. */
class LatePiece {
  readonly step: Promise<IteratorResult<string, void>>;
  #isThere = false;
  #wake: (() => void) | undefined;

  constructor(step: Promise<IteratorResult<string, void>>) {
    this.step = step;
    const note = () => {
      this.#isThere = true;
      this.#wake?.();
    };
    // A failure is thrown to whoever takes the step.
    step.then(note, note);
  }

  /** Whether it has come, or failed, when so much time is over; false where none is left. */
  isThereWithin(ms: number): Promise<boolean> {
    if (ms <= 0) return Promise.resolve(false);
    return new Promise((resolve) => {
      const answer = () => {
        stopTimer();
        this.#wake = undefined;
        resolve(this.#isThere);
      };
      const stopTimer = startBackgroundTimer(ms, answer);
      this.#wake = answer;
      if (this.#isThere) answer();
    });
  }
}
