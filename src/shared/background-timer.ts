/** Calls `work` after so many milliseconds. On Node the timer does not keep the process from ending. Gives what stops it. */
export function startBackgroundTimer(ms: number, work: () => void): () => void {
  const timer = setTimeout(work, ms);
  const handle: unknown = timer;
  if (isUnreferable(handle)) handle.unref();
  return () => clearTimeout(timer);
}

/** Node's timers are objects. */
function isUnreferable(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function';
}
