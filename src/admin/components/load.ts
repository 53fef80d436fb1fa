/** Values that come from the server, as hooks. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { isReachable } from '../server/client.ts';
import { session } from '../server/session.ts';

export interface Loaded<T> {
  /** Undefined until the first value is there. Stays while the next one is loaded. */
  readonly value: T | undefined;
  readonly failure: unknown;
  readonly isLoading: boolean;
  readonly reload: () => void;
}

/**
 * Loads when the component appears, whenever one of `what` or the user changes, when a lost server is back, and every `everyMs` milliseconds
 * while the page is in sight. What is no longer wanted is aborted.
 */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  what: readonly unknown[],
  everyMs?: number,
): Loaded<T> {
  const [state, setState] = useState<{ value: T | undefined; failure: unknown; isLoading: boolean }>({
    value: undefined,
    failure: undefined,
    isLoading: true,
  });
  const [count, setCount] = useState(0);
  const keys = [...what, session.value.name];
  const isBusy = useRef(false);
  // A different key is a different thing: its predecessor's value must not be seen under its name.
  useEffect(() => setState({ value: undefined, failure: undefined, isLoading: true }), keys);
  useEffect(() => {
    const controller = new AbortController();
    setState((former) => ({ ...former, isLoading: true }));
    isBusy.current = true;
    load(controller.signal).then(
      (value) => {
        if (controller.signal.aborted) return;
        isBusy.current = false;
        setState({ value, failure: undefined, isLoading: false });
      },
      (failure: unknown) => {
        if (controller.signal.aborted) return;
        isBusy.current = false;
        setState((former) => ({ ...former, failure, isLoading: false }));
      },
    );
    return () => controller.abort();
  }, [...keys, count]);
  const reload = useCallback(() => setCount((former) => former + 1), []);
  useEffect(() => onReturn(reload), [reload]);
  useEffect(() => {
    if (everyMs === undefined) return undefined;
    const timer = setInterval(() => {
      // A slow server is not asked again before it has responded: that would abort each request, and show nothing.
      if (document.visibilityState === 'visible' && !isBusy.current) reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs, reload]);
  return { ...state, reload };
}

/** Calls `reload` whenever the server responds again after it did not. */
function onReturn(reload: () => void): () => void {
  let wasLost = false;
  return isReachable.subscribe((isBack) => {
    if (isBack && wasLost) reload();
    wasLost = !isBack;
  });
}
