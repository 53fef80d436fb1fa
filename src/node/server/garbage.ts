/**
 * Has the engine collect garbage after large requests. V8 lets garbage grow in proportion to what lives, and texts of a large request live when
 * it decides: so the garbage of one request of 60 MB often stood beside all of the next one.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ByteBudget } from '../../base/shared/byte-budget.ts';

/** Requests that hold less leave garbage that V8's own limits bound. A body holds four times its bytes. */
const MIN_BYTES = 33_554_432;
/** Collecting takes some 20 ms of the thread, which is little beside the processing of requests that hold this much together. */
const BYTES_PER_COLLECTION = 100_000_000;

type Collect = (options: { readonly type: 'major'; readonly execution: 'async' }) => unknown;

/** From now on, requests that held much are followed by a collection, and count until it ends. */
export function collectAfterLargeRequests(budget: ByteBudget): void {
  const collect = findCollect();
  if (collect === undefined) return;
  let released = 0;
  budget.collect = (bytes) => {
    if (bytes < MIN_BYTES) return undefined;
    released += bytes;
    if (released < BYTES_PER_COLLECTION) return undefined;
    released = 0;
    // In a later turn: the last functions of the request have returned by then.
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() =>
      collect({ type: 'major', execution: 'async' }),
    );
  };
}

/** V8's function for that exists only in contexts made under this flag, such as this one, whose code is ours. */
function findCollect(): Collect | undefined {
  setFlagsFromString('--expose-gc');
  const found: unknown = runInNewContext('globalThis.gc');
  setFlagsFromString('--no-expose-gc');
  return typeof found === 'function' ? (options) => found(options) : undefined;
}
