/** The body of a response that reports events as they happen: each piece is sent separately, with newlines in between to show that it is alive. */
import { tooBusy } from '../../base/errors/too-busy.ts';
import type { ByteLease } from '../../base/shared/byte-budget.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import type { ByteStream } from '../../base/shared/message.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Context } from '../request/context.ts';
import { assertKept, isSurelyKept, lost } from '../request/kept-rights.ts';
import { isInternal } from './error-table.ts';

/** The right to a response that waits for events: a client that loses it is sent nothing more, and need not be waited for. */
class OpenGrant {
  readonly #context: Context;
  readonly #onLost: () => void;
  readonly #stopListening: () => void;
  #stopTimer: (() => void) | undefined;
  #isAsking = false;

  /** `onLost` is called as soon as the right is lost. */
  constructor(context: Context, onLost: () => void) {
    this.#context = context;
    this.#onLost = onLost;
    const { grant, services, user, identity } = context;
    const note = () => this.#note();
    this.#stopListening = grant === undefined ? () => undefined : services.access.onChange(grant.database, user, note);
    if (identity?.until !== undefined) this.#noteAt(identity.until);
  }

  /** It may be long until something happens: a feed would take its room until then. Timers may be early, and have a longest time. */
  #noteAt(until: number): void {
    const waitMs = until - this.#context.services.clock.now();
    if (waitMs <= 0) this.#note();
    else this.#stopTimer = startBackgroundTimer(Math.ceil(waitMs), () => this.#noteAt(until));
  }

  /** Fails with `unauthorized` if the right is lost. */
  async assert(): Promise<void> {
    if (this.#hasExpired) throw lost('The token has expired.');
    if (!isSurelyKept(this.#context)) await assertKept(this.#context);
  }

  get #hasExpired(): boolean {
    const { identity, services } = this.#context;
    return identity?.until !== undefined && identity.until <= services.clock.now();
  }

  /** Called when the grant is not needed any more. May be called more than once. */
  end(): void {
    this.#stopListening();
    this.#stopTimer?.();
  }

  #note(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.assert().then(
      () => {
        this.#isAsking = false;
        // Something may have changed since the last check.
        if (this.#hasExpired || !isSurelyKept(this.#context)) this.#note();
      },
      () => this.#onLost(),
    );
  }
}

export interface LiveSource {
  readonly pieces: AsyncGenerator<string, void, void>;
  /** Whether a row is partly written, in which nothing else may be sent; by default it never is. */
  readonly rows?: { readonly isInside: boolean };
  /** Milliseconds without any text after which a newline is sent, however long the next piece takes; undefined for never. */
  readonly heartbeatMs: number | undefined;
  /** Ends `pieces`, even during a wait. Called when no one reads on. */
  close(): void;
}

/** As a piece: the next one may take any time, and almost no memory is held until then. */
export const WAITS = '';
const HEARTBEAT = '\n';
/**
 * The beginning of a feed that has nothing to send yet. Firefox keeps back the head of a response that comes through a service worker
 * until its body begins: a client that waits for the head before it writes would wait forever.
 */
const BEGINNING = '\n';
/** Makes an EventSource forget its last id, which means nothing in a new database of the same name. */
export const FORGET_EVENT_ID = 'id:\n\n';
/** About what is held while the pieces are built, and wait for a slow reader. */
const HELD_BYTES = 262_144;
/** In addition, what exists to be sent at the beginning, with the garbage of what was sent before. */
const BACKLOG_BYTES = 1_048_576;

export class LiveBody implements ByteStream {
  readonly #source: LiveSource;
  readonly #context: Context;
  readonly #lease: ByteLease;
  readonly #grant: OpenGrant;
  readonly #encoder = new TextEncoder();
  readonly #timeSlice = new TimeSlice();
  /** Whether there is room for what exists already; set until that is known. */
  #room: Promise<boolean> | undefined;
  #isCancelled = false;
  #hasBegun = false;
  /** The piece that the body waits for. */
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
    // Due by text, not by piece: if a filter rejects changes, their pieces are empty, however often they come.
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
    // The step that is being waited for ends then; its failure no longer concerns anyone.
    this.#source.close();
    this.#next?.step.catch(() => undefined);
    try {
      await this.#source.pieces.return();
    } finally {
      this.#lease.release();
    }
  }

  /** Waits for room: there may be much to send at the beginning, and none of it is built before there is room. */
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
    // A failure is thrown to the caller that takes the step.
    step.then(note, note);
  }

  /** Returns whether it has come, or failed, within the time; false if no time is left. */
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
