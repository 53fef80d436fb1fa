/** What a second of changes makes of the list on the screen. */
import type { ChangeEvent } from './follow.ts';

export interface LiveChanges {
  /** Newest first. */
  readonly events: readonly ChangeEvent[];
  /** Changes per second, over the last second. */
  readonly rate: number;
  /** Changes that match the filter and are not listed: too many a second. */
  readonly skipped: number;
  /** More come than can be listed. */
  readonly isTooMany: boolean;
  /** Changes that came while the list was paused. */
  readonly waiting: number;
  readonly isLoaded: boolean;
  readonly failure: unknown;
}

/** Changes per second that are listed. When there are more, they are counted only. */
export const MAX_PER_SECOND = 200;
/** Changes that are listed, and kept during a pause. */
export const KEPT = 200;

export const EMPTY: LiveChanges = {
  events: [],
  rate: 0,
  skipped: 0,
  isTooMany: false,
  waiting: 0,
  isLoaded: false,
  failure: undefined,
};

/** What has come since the last second began. Of very many, only the newest that are wanted are kept, and all are counted. */
export class News {
  #count = 0;
  #wanted = 0;
  #events: ChangeEvent[] = [];

  add(event: ChangeEvent, isWanted: boolean): void {
    this.#count += 1;
    if (!isWanted) return;
    this.#wanted += 1;
    this.#events.push(event);
    if (this.#events.length >= 2 * KEPT) this.#events = this.#events.slice(-KEPT);
  }

  /** Returns all, and is empty afterwards. */
  take(): Came {
    const came = { count: this.#count, wanted: this.#wanted, events: this.#events.slice(-KEPT) };
    this.#count = 0;
    this.#wanted = 0;
    this.#events = [];
    return came;
  }
}

/** Changes of a second: how many, how many that match the filter, and the newest of these, oldest first. */
export interface Came {
  readonly count: number;
  readonly wanted: number;
  readonly events: readonly ChangeEvent[];
}

export interface Tick {
  readonly came: Came;
  /** How long it took. */
  readonly seconds: number;
  /** What came during a pause that has ended. */
  readonly held: readonly ChangeEvent[];
  readonly isPaused: boolean;
}

/** The state after a second. */
export function next(former: LiveChanges, { came, seconds, held, isPaused }: Tick): LiveChanges {
  const { wanted } = came;
  const rate = Math.round(came.count / seconds);
  const isQuiet = came.count === 0 && former.rate === 0 && held.length === 0;
  if (isPaused) return isQuiet ? former : { ...former, rate, waiting: former.waiting + wanted };
  if (isQuiet && former.waiting === 0) return former;
  const isTooMany = wanted / seconds > MAX_PER_SECOND;
  const listed = isTooMany ? held : [...held, ...came.events];
  const events = listed.length === 0 ? former.events : [...listed.toReversed(), ...former.events].slice(0, KEPT);
  return { ...former, events, rate, waiting: 0, isTooMany, skipped: former.skipped + (isTooMany ? wanted : 0) };
}
