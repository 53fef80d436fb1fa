/** What timers of platforms take at most, almost 25 days: more of them would be over at once. */
const LONGEST_MS = 2_147_483_647;

/** Calls `work` after so many milliseconds, but no later than after 24 days. On Node the timer does not keep the process from ending. Gives what stops it. */
export function startBackgroundTimer(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, Math.min(ms, LONGEST_MS));
  const handle: unknown = timer;
  if (isUnreferable(handle)) handle.unref();
  return () => clearTimeout(timer);
}

/** Node's timers are objects. */
function isUnreferable(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function';
}
