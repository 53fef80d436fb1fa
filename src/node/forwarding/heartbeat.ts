import { frameOf, PING } from './frames.ts';
import type { Link } from './link.ts';

/** Silent beats after which the other end is asked for a sign of life, and after which the connection counts as lost. */
const ASK_BEATS = 2;
const MAX_BEATS = 6;

/** Between two beats, in milliseconds. */
export const BEAT_MS = 1_000;

/**
 * Notices that the other end of a link has gone without a word, as a machine does that loses power: the link ends when nothing came for six beats,
 * although requests are under way and the other end was asked. It counts beats, not time: after this process itself has stood still, there is one beat, and
 * then what came meanwhile is read.
 */
export class Heartbeat {
  readonly #link: Link;
  readonly #beatMs: number;
  readonly #isBusy: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #receivedBytes = 0;
  #silentBeats = 0;

  /** `isBusy`: whether requests are under way. Without any, there are no beats. */
  constructor(link: Link, beatMs: number, isBusy: () => boolean) {
    this.#link = link;
    this.#beatMs = beatMs;
    this.#isBusy = isBusy;
  }

  /** A request is under way from now on. */
  begin(): void {
    if (this.#timer !== undefined) return;
    this.#silentBeats = 0;
    this.#receivedBytes = this.#link.receivedBytes;
    this.#timer = setTimeout(() => this.#beat(), this.#beatMs);
  }

  #beat(): void {
    this.#timer = undefined;
    const link = this.#link;
    if (!link.isOpen || !this.#isBusy()) return;
    const { receivedBytes } = link;
    this.#silentBeats = receivedBytes === this.#receivedBytes ? this.#silentBeats + 1 : 0;
    this.#receivedBytes = receivedBytes;
    if (this.#silentBeats >= MAX_BEATS) {
      link.destroy('nothing came from it, although it was asked for a sign of life');
      return;
    }
    if (this.#silentBeats > 0 && this.#silentBeats % ASK_BEATS === 0) link.send(frameOf(PING, 0));
    this.#timer = setTimeout(() => this.#beat(), this.#beatMs);
  }
}
