import { AsyncLocalStorage } from 'node:async_hooks';

/** What runs on behalf of the test that called `noteTimers` last. */
const ofThisTest = new AsyncLocalStorage<object>();

/**
 * Notes the fake timers that files of the sources set from now on, on behalf of the test that calls this. `running` lists those that have
 * neither ended nor been removed, by the place where they were set. Unlike `vi.getTimerCount()` it leaves out what else runs in the
 * process: the test runner, and what other tests have left open, whose real timers may set fake ones when they end. Must be called
 * in the test's own function: what a hook calls is not on behalf of a test.
 *
 * @param places the files that count
 */
export function noteTimers(places = /\/src\//): { readonly running: readonly string[] } {
  const running = new Map<unknown, string>();
  ofThisTest.enterWith(running);
  const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
  const note = (timer: unknown): void => {
    if (ofThisTest.getStore() !== running) return;
    const place = new Error('set').stack?.split('\n').find((line) => line.includes('/src/'));
    if (place !== undefined && places.test(place)) running.set(timer, place.trim());
  };
  const replacements = {
    setTimeout: (work: (...values: unknown[]) => void, ms?: number, ...values: unknown[]) => {
      const timer = setTimeout(() => {
        running.delete(timer);
        work(...values);
      }, ms);
      note(timer);
      return timer;
    },
    setInterval: (work: () => void, ms?: number) => {
      const timer = setInterval(work, ms);
      note(timer);
      return timer;
    },
    clearTimeout: (timer?: NodeJS.Timeout) => {
      running.delete(timer);
      clearTimeout(timer);
    },
    clearInterval: (timer?: NodeJS.Timeout) => {
      running.delete(timer);
      clearInterval(timer);
    },
  };
  for (const [name, replacement] of Object.entries(replacements)) {
    const faked: unknown = Reflect.get(globalThis, name);
    // With the members by which the real one is put back.
    if ('clock' in Object(faked)) Reflect.set(globalThis, name, Object.assign(replacement, faked));
  }
  return {
    get running() {
      return [...running.values()];
    },
  };
}
