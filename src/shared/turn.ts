/**
 * Resolves in a later turn of the event loop, after whatever else waits for one: timers, input, other tasks. Promises
 * alone never let those run.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
