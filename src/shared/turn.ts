/**
 * Resolves in a later turn of the event loop, after whatever else waits for one: timers, input, other tasks. Promises
 * alone never let those run. Costs some ten microseconds; `setTimeout` would cost a millisecond and more.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
