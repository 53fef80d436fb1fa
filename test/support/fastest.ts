/**
 * Milliseconds of the fastest of some rounds. Slow code is slow each time; a round that the machine, or garbage collection,
 * held up says nothing about the code.
 */
export function fastestMs(work: () => void, rounds = 3): number {
  let fastest = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round++) {
    const begun = performance.now();
    work();
    fastest = Math.min(fastest, performance.now() - begun);
  }
  return fastest;
}
