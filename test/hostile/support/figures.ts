import type { AttackedServer } from './attacked-server.ts';
import type { Latencies } from './busy.ts';
import type { Neighbour } from './neighbour.ts';
import { observed } from './observation.ts';
import { highestMemory, megabytes } from './process-use.ts';

export interface Attack<T> {
  readonly result: T;
  /** Bytes of memory that the server had more at most. */
  readonly gained: number;
  readonly latencies: Latencies;
  /** The same beside a server that does nothing else. */
  readonly quiet: Latencies;
}

/** Does what an attacker does, and prints one line of figures: memory gained, how long a neighbour waited, and what the attacker got. */
export async function attack<T>(
  server: AttackedServer,
  neighbour: Neighbour,
  name: string,
  { work, outcome }: { readonly work: () => Promise<T>; readonly outcome: (result: T) => string },
): Promise<Attack<T>> {
  const quiet = await neighbour.quiet();
  const { result: measured, latencies } = await neighbour.during(() => highestMemory(server.pid, work));
  const { result, before, highest } = measured;
  const gained = highest - before;
  observed().noteOutcome(outcome(result));
  const turn = latencies.longestTurn === undefined ? '' : `, longest turn ${Math.round(latencies.longestTurn)} ms`;
  console.log(
    `${name}: ${megabytes(gained)} more, the neighbour waited ${Math.round(latencies.longest)} ms at most (beside an idle server ${Math.round(latencies.longestIdle)} ms, quiet ${Math.round(quiet.longest)} ms${turn}), ${outcome(result)}`,
  );
  return { result, gained, latencies, quiet };
}
