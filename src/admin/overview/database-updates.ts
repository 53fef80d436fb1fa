import { useEffect, useRef, useState } from 'preact/hooks';
import { followDatabases } from '../server/db-updates.ts';
import { session } from '../server/session.ts';

/** Milliseconds between two requests about databases that change all the time. */
const MIN_INTERVAL_MS = 1_000;

/** Calls `changed` with the databases that have changed, at most once a second. Returns whether the server tells. */
export function useDatabaseUpdates(changed: (names: readonly string[]) => Promise<void>): boolean {
  const [isLive, setLive] = useState(false);
  const latest = useRef(changed);
  latest.current = changed;
  useEffect(() => {
    const controller = new AbortController();
    const names = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = () => {
      timer = undefined;
      const all = [...names];
      names.clear();
      // The next change asks again.
      void latest.current(all).catch(() => undefined);
    };
    setLive(true);
    void followDatabases(controller.signal, {
      changed: (name) => {
        names.add(name);
        timer ??= setTimeout(tell, MIN_INTERVAL_MS);
      },
      unavailable: () => setLive(false),
    });
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [session.value.name]);
  return isLive;
}
