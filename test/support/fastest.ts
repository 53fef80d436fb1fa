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

/**
 * How many times longer a work takes than another one, the floor, each in its fastest round. The rounds alternate, so that a busy machine slows
 * both.
 */
export function timesSlower(work: () => void, floor: () => void, rounds = 5): number {
  let [fastest, fastestFloor] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < rounds; round++) {
    fastestFloor = Math.min(fastestFloor, fastestMs(floor, 1));
    fastest = Math.min(fastest, fastestMs(work, 1));
  }
  return fastest / fastestFloor;
}
