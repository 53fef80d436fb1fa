/** The changes on the screen: those that come are added, unless there are too many or the user has paused. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Json } from '../server/client.ts';
import { type ChangeEvent, followChanges, latestChanges } from './follow.ts';

export interface LiveChanges {
  /** Newest first. */
  readonly events: readonly ChangeEvent[];
  /** Changes per second, over the last second. */
  readonly rate: number;
  /** Changes that came and are not listed: too many a second. */
  readonly skipped: number;
  /** Changes that came while the list was paused. */
  readonly waiting: number;
  readonly isLoaded: boolean;
  readonly failure: unknown;
}

/** Beyond this rate changes are counted, not listed. */
export const MOST_PER_SECOND = 200;
const KEPT = 200;
const FIRST = 20;
const TICK_MS = 1_000;

const EMPTY: LiveChanges = { events: [], rate: 0, skipped: 0, waiting: 0, isLoaded: false, failure: undefined };

export function useLiveChanges(database: string, isPaused: boolean): LiveChanges {
  const [state, setState] = useState(EMPTY);
  /** What has come since the last second began. */
  const news = useRef<ChangeEvent[]>([]);
  const held = useRef<ChangeEvent[]>([]);
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    const controller = new AbortController();
    setState(EMPTY);
    const fail = (failure: unknown) => {
      if (!controller.signal.aborted) setState((former) => ({ ...former, failure }));
    };
    latestChanges(database, FIRST, controller.signal).then(({ events, lastSeq }) => {
      setState({ ...EMPTY, events, isLoaded: true });
      void follow(database, lastSeq, controller.signal, news.current, fail);
    }, fail);
    return () => controller.abort();
  }, [database]);
  useEffect(() => {
    const timer = setInterval(() => {
      const came = news.current.splice(0);
      setState((former) => next(former, came, held.current, paused.current));
    }, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return state;
}

function follow(
  database: string,
  since: Json,
  signal: AbortSignal,
  news: ChangeEvent[],
  failed: (failure: unknown) => void,
): Promise<void> {
  return followChanges(database, since, signal, { event: (event) => void news.push(event), failed });
}

/** What a second has brought. */
function next(former: LiveChanges, came: readonly ChangeEvent[], held: ChangeEvent[], isPaused: boolean): LiveChanges {
  const rate = came.length;
  if (isPaused) {
    // The newest are enough: more are never listed.
    held.push(...came.slice(-KEPT));
    held.splice(0, held.length - KEPT);
    return rate === 0 && former.rate === 0 ? former : { ...former, rate, waiting: former.waiting + rate };
  }
  const tooMany = rate > MOST_PER_SECOND;
  const listed = [...held.splice(0), ...(tooMany ? [] : came)];
  if (listed.length === 0 && rate === 0 && former.rate === 0 && former.waiting === 0) return former;
  const events = listed.length === 0 ? former.events : [...listed.toReversed(), ...former.events].slice(0, KEPT);
  return { ...former, events, rate, waiting: 0, skipped: tooMany ? former.skipped + rate : former.skipped };
}
