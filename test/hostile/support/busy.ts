/** Milliseconds. */
export interface Latencies {
  readonly median: number;
  readonly longest: number;
  /** Of an idle server on the same machine, at the same time: what the machine makes everybody wait. */
  readonly longestIdle: number;
  readonly count: number;
  /** For how long at most the measuring thread itself was kept from running. */
  readonly ownLag: number;
  /** Processor time of the server's longest turn; undefined where the system does not tell. */
  readonly longestTurn: number | undefined;
  /** How many processors other processes took; 0 where the system does not tell. */
  readonly others: number;
}

/** A thread that does nothing but wait is late by this much only where other processes want the processors. */
const BUSY_LAG_MS = 15;
/** Processors that others may take on a machine that does nothing else. */
const BUSY_OTHERS = 0.2;

/** Whether what was measured says more of the machine than of the server. */
export function wasBusy({ others, ownLag }: Latencies): boolean {
  return others > BUSY_OTHERS || ownLag > BUSY_LAG_MS;
}
