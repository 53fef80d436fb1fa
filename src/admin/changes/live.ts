/** The changes on the screen: those that come are added, unless there are too many or the user has paused. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { session } from '../server/session.ts';
import { type ChangeEvent, followChanges } from './follow.ts';
import { EMPTY, KEPT, type LiveChanges, News, next } from './news.ts';

const FIRST = 20;
const TICK_MS = 1_000;

/** `filter`: what the ids of listed changes contain. Few that match are listed, however many others come. */
export function useLiveChanges(database: string, isPaused: boolean, filter: string): LiveChanges {
  const [state, setState] = useState(EMPTY);
  const news = useRef(new News());
  const held = useRef<readonly ChangeEvent[]>([]);
  const latest = useRef({ isPaused, filter });
  latest.current = { isPaused, filter };
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setState(EMPTY);
    const failed = (failure: unknown) => {
      if (!signal.aborted) setState((former) => (former.failure === failure ? former : { ...former, failure }));
    };
    const event = (one: ChangeEvent) => news.current.add(one, one.id.includes(latest.current.filter));
    const begun = (events: readonly ChangeEvent[]) => setState({ ...EMPTY, events, isLoaded: true });
    void followChanges(database, FIRST, signal, { begun, event, failed });
    return () => controller.abort();
  }, [database, session.value.name]);
  useEffect(() => {
    let before = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      // Browsers slow down the timers of pages that nobody sees.
      const seconds = Math.max(1, (now - before) / 1000);
      before = now;
      const came = news.current.take();
      const { isPaused: isHeld } = latest.current;
      const listed = isHeld ? [] : held.current;
      held.current = isHeld ? [...held.current, ...came.events].slice(-KEPT) : [];
      setState((former) => next(former, { came, seconds, held: listed, isPaused: isHeld }));
    }, TICK_MS);
    return () => clearInterval(timer);
  }, []);
  return state;
}
